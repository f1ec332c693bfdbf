import { type ListPrices, parseListPrices } from '#money/list-prices.js';
import { readYaml } from './read-yaml.js';
import { setPrice } from './set-price.js';

const PRICE = { inputPicoUsd: 250_000n, cachedInputPicoUsd: 0n, outputPicoUsd: 12_000_000n };

test('the values of the model are replaced, and all else is kept', () => {
  const text = `# the catalog
upstreams: []
models:
  - id: a # the first
    price: { inputUsdPerMTok: "0.15", cachedInputUsdPerMTok: '0.015', outputUsdPerMTok: "0.60" } # per million
  - id: b
    price:
      inputUsdPerMTok: "0.15"   # prompt
      outputUsdPerMTok: "0.60"
      cachedInputUsdPerMTok: "0.015"
`;
  expect(setPrice(text, 'a', PRICE)).toBe(
    text.replace(
      '"0.15", cachedInputUsdPerMTok: \'0.015\', outputUsdPerMTok: "0.60"',
      '"0.25", cachedInputUsdPerMTok: "0.00", outputUsdPerMTok: "12.00"',
    ),
  );
  expect(setPrice(text, 'b', PRICE)).toBe(
    text
      .replace('"0.15"   # prompt', '"0.25"   # prompt')
      .replace('      outputUsdPerMTok: "0.60"', '      outputUsdPerMTok: "12.00"')
      .replace('      cachedInputUsdPerMTok: "0.015"', '      cachedInputUsdPerMTok: "0.00"'),
  );
});

test('the steps and tiers of a price are replaced with it', () => {
  const text = `models:
  - id: a
    price:
      inputUsdPerMTok: "1"
      cachedInputUsdPerMTok: "1"
      outputUsdPerMTok: "1" # a comment
      steps:
        - { above: 9, inputUsdPerMTok: "2", cachedInputUsdPerMTok: "2" }
`;
  const price = { ...PRICE, steps: [{ above: 8, reprices: 'excess' as const, inputPicoUsd: 3_000_000n, cachedInputPicoUsd: 0n }] };
  const edited = setPrice(text, 'a', price);
  expect(edited).toContain('outputUsdPerMTok: "12.00" # a comment');
  const { plain } = readYaml(edited, 'catalog') as { plain: { models: { price: ListPrices }[] } };
  expect(plain.models.map((model) => parseListPrices(model.price))).toEqual([price]);
});

test('a text that does not name the model is kept', () => {
  expect(setPrice('upstreams: []\nmodels: []\n', 'a', PRICE)).toBe('upstreams: []\nmodels: []\n');
});

const SHARED = `models:
  - { id: a, price: &cheap { inputUsdPerMTok: "0.15", cachedInputUsdPerMTok: "0", outputUsdPerMTok: "1" } }
  - { id: b, price: *cheap } # as a
`;

test('an alias becomes a price of its own', () => {
  expect(setPrice(SHARED, 'b', PRICE)).toBe(
    SHARED.replace('*cheap', '{ inputUsdPerMTok: "0.25", cachedInputUsdPerMTok: "0.00", outputUsdPerMTok: "12.00" }'),
  );
});

test('a price that others share is written anew for its model alone', () => {
  expect(setPrice(SHARED, 'a', PRICE)).toBe(`models:
  - id: a
    price:
      inputUsdPerMTok: "0.25"
      cachedInputUsdPerMTok: "0.00"
      outputUsdPerMTok: "12.00"
  - id: b
    price:
      inputUsdPerMTok: "0.15"
      cachedInputUsdPerMTok: "0"
      outputUsdPerMTok: "1"
`);
});

const UNITS = { ...PRICE, requestPicoUsd: 1_000_000_000n, imagePicoUsd: 1n };
const NEW_PRICE =
  '{ inputUsdPerMTok: "0.25", cachedInputUsdPerMTok: "0.00", outputUsdPerMTok: "12.00", requestUsd: "0.001", imageUsd: "0.000000000001" }';

test.each([
  ['in one line', '{ inputUsdPerMTok: "0.15", cachedInputUsdPerMTok: "0.015", outputUsdPerMTok: "0.60" }'],
  [
    'in lines',
    `
      inputUsdPerMTok: "0.15" # prompt
      cachedInputUsdPerMTok: "0.015"
      outputUsdPerMTok: "0.60"`,
  ],
])('a price %s that gets or loses the price of a request is written anew, and all else is kept', (_, price) => {
  const text = `# the catalog
models:
  - id: a
    price: ${price}
  - id: b # the second
    price: { inputUsdPerMTok: "1", cachedInputUsdPerMTok: "1", outputUsdPerMTok: "1" }
`;
  const priced = setPrice(text, 'a', UNITS);
  expect(priced.replace(/price:\s+/, 'price: ')).toBe(text.replace(price, NEW_PRICE));
  expect(setPrice(priced, 'a', PRICE)).toBe(priced.replace(', requestUsd: "0.001", imageUsd: "0.000000000001"', ''));
});

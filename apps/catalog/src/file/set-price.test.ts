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

import type { CatalogModel } from '../../../../src/shapes/catalog.js';
import { abilities, nextPrices, priceRows, type Scheduled } from './model-words.js';

test('of several scheduled prices of a model, the soonest is the next', () => {
  const [soon, late, other] = [
    { model: 'a', effectiveAt: '2027-01-01T00:00:00.000Z' },
    { model: 'a', effectiveAt: '2027-02-01T00:00:00.000Z' },
    { model: 'b', effectiveAt: '2027-03-01T00:00:00.000Z' },
  ] as [Scheduled, Scheduled, Scheduled];
  expect(nextPrices([soon, late, other])).toEqual(
    new Map([
      ['a', soon],
      ['b', other],
    ]),
  );
});

test.each<[Partial<CatalogModel>, string[]]>([
  [{ input: ['text'], reasoning: false }, ['acme']],
  [{ input: ['text', 'image'], reasoning: true }, ['acme', 'images', 'reasoning']],
  [{ input: ['text'], reasoning: false, embeddingDimensions: 1_536 }, ['acme', 'embeddings of 1,536 dimensions']],
])('the abilities of %o are %o', (model, words) => {
  expect(abilities({ ownedBy: 'acme', ...model } as CatalogModel)).toEqual(words);
});

test('prices side by side have a row for each kind, and one for each rule that only some of them have', () => {
  const now = { inputPicoUsd: '1', cachedInputPicoUsd: '2', outputPicoUsd: '3', version: 1 };
  const next = { ...now, outputPicoUsd: '4', requestPicoUsd: '5', version: 2 };
  const form = { perMillion: (pico: bigint) => `${pico}/M`, each: (pico: bigint) => `${pico}` };
  expect(priceRows([now, next], form)).toEqual([
    { name: 'Input', texts: ['1/M', '1/M'] },
    { name: 'Cached input', texts: ['2/M', '2/M'] },
    { name: 'Output', texts: ['3/M', '4/M'] },
    { name: '5 a request', texts: [undefined, 'yes'] },
  ]);
});

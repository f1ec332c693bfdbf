import type { CatalogModel } from '../../../../src/shapes/catalog.js';
import { mostItCosts } from './turn.js';

const model = (inputPicoUsd: string, cachedInputPicoUsd: string, cacheWrite1hPicoUsd?: string): CatalogModel => {
  const price = { version: 1, inputPicoUsd, cachedInputPicoUsd, ...(cacheWrite1hPicoUsd && { cacheWrite1hPicoUsd }), outputPicoUsd: '10' };
  return { maxOutputTokens: 100, price } as CatalogModel;
};
const says = (content: string) => ({ role: 'user' as const, content });

test.each([
  ['a token for each byte', model('3', '1'), [says('é'), says('ab')], 5, 4n * 3n + 50n],
  ['the larger price of input', model('1', '3'), [says('ab')], 5, 6n + 50n],
  ['the price of a write to a cache, if it is the largest', model('1', '2', '3'), [says('ab')], 5, 6n + 50n],
  ['no more output than the model has', model('3', '1'), [], 1_000, 1_000n],
])('a request holds %s', (_name, of, messages, maxTokens, held) => {
  expect(mostItCosts(of, messages, maxTokens)).toBe(held);
});

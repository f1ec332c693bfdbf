import { QUOTE_KEY_MS } from '#contracts/billing/quotes.js';
import { findQuoteKey } from './quote-key.js';

const NOW = 500_000.5 * QUOTE_KEY_MS;

test('each hour and each pepper has a key of its own, the same in all replicas', () => {
  const keys = [499_999, 500_000, 500_001].map((number) => findQuoteKey('pepper', number, NOW));
  expect(new Set([...keys, findQuoteKey('another', 500_000, NOW)]).size).toBe(4);
  expect(keys).toEqual([499_999, 500_000, 500_001].map((number) => findQuoteKey('pepper', number, NOW)));
  expect(findQuoteKey('pepper', undefined, NOW)).toBe(keys[1]);
  expect(keys.map((key) => Buffer.from(key, 'base64').length)).toEqual([32, 32, 32]);
});

test.each([499_998, 500_002, 0])('there is no key %i of another time', (number) => {
  expect(() => findQuoteKey('pepper', number, NOW)).toThrow(expect.objectContaining({ code: 'not_found', param: 'number' }));
});

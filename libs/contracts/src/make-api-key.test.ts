import fc from 'fast-check';
import { apiKeyChecksum, BASE62, isWellFormedApiKey } from './api-key.js';
import { makeApiKey } from './make-api-key.js';

test('a new key has the prefix, 30 random characters and their checksum', () => {
  const keys = Array.from({ length: 1_000 }, makeApiKey);
  for (const key of keys) {
    expect(key).toMatch(/^tg_live_[0-9A-Za-z]{36}$/);
    expect(key.slice(-6)).toBe(apiKeyChecksum(key.slice(0, -6)));
    expect(isWellFormedApiKey(key)).toBe(true);
  }
  expect(new Set(keys).size).toBe(1_000);
});

test('one wrong character, or two swapped, is always detected', () => {
  fc.assert(
    fc.property(fc.nat(43), fc.nat(61), fc.nat(42), (place, other, swap) => {
      const key = makeApiKey();
      const wrong = key.slice(0, place) + BASE62.charAt(other) + key.slice(place + 1);
      expect(isWellFormedApiKey(wrong)).toBe(wrong === key);
      const swapped = key.slice(0, swap) + key.charAt(swap + 1) + key.charAt(swap) + key.slice(swap + 2);
      expect(isWellFormedApiKey(swapped)).toBe(swapped === key);
    }),
    { numRuns: 2_000 },
  );
});

test.each(['', 'tg_live_', 'sk-1234', `tg_live_${'a'.repeat(36)}`, `tg_test_${'a'.repeat(36)}`, `tg_live_${'ä'.repeat(36)}`, 'tg_live_\n'])(
  '%j is not a key',
  (text) => expect(isWellFormedApiKey(text)).toBe(false),
);

test('a key with something before or after it is not a key', () => {
  const key = makeApiKey();
  for (const text of [` ${key}`, `${key} `, `${key}\n`, key.slice(1), key.toUpperCase()]) expect(isWellFormedApiKey(text)).toBe(false);
});

test('the checksum is stable: keys live for years', () => {
  expect(apiKeyChecksum(`tg_live_${'0'.repeat(30)}`)).toBe('3nUU1K');
});

import { digestApiKey } from '#contracts/api-key.js';
import { makeApiKey } from '#contracts/make-api-key.js';
import { storedDigest } from './key-digest.js';

test('the stored digest depends on the key and on the pepper', () => {
  const key = makeApiKey();
  const stored = storedDigest(digestApiKey(key), 'p'.repeat(32));
  expect(stored).toHaveLength(32);
  expect(stored).toEqual(storedDigest(digestApiKey(key), 'p'.repeat(32)));
  expect(stored).not.toEqual(storedDigest(digestApiKey(key), 'q'.repeat(32)));
  expect(Buffer.from(stored).toString('hex')).not.toBe(digestApiKey(key));
});

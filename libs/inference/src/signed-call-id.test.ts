import fc from 'fast-check';
import { signCallId, splitCallId } from './signed-call-id.js';

test('an id carries any signature, in characters that every client format accepts', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[A-Za-z0-9_]{1,20}$/), fc.uint8Array({ minLength: 1, maxLength: 80 }), (callId, bytes) => {
      const signature = Buffer.from(bytes).toString('base64');
      const signed = signCallId(callId, signature);
      expect(signed).toMatch(/^[A-Za-z0-9_-]+$/);
      expect(splitCallId(signed)).toEqual({ callId, signature });
    }),
  );
});

test.each([
  ['none', undefined],
  ['an empty one', ''],
  ['one that is not base64', 'a b'],
  ['one that is too long', 'A'.repeat(65_540)],
])('a signature is left out: %s', (_, signature) => {
  expect(signCallId('call_1', signature)).toBe('call_1');
});

test.each(['call_1', 'call-sig-', 'call-sig-a b'])('an id of another upstream is no signed one: %s', (callId) => {
  expect(splitCallId(callId)).toEqual({ callId, signature: undefined });
});

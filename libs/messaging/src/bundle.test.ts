import fc from 'fast-check';
import { type BundledMessage, readBundle, renderBundle } from './bundle.js';

const SENDER = '_INBOX.inference-proxy.0123456789abcdef01234567';

function read(bundle: Uint8Array): (BundledMessage & { sender: string })[] {
  const messages: (BundledMessage & { sender: string })[] = [];
  readBundle(bundle, (sender, message) => messages.push({ sender, ...message }));
  return messages;
}

const token = fc.stringMatching(/^\+[rw][\w-]{16}$/);
const bundled = fc.record({ token, replyToken: fc.option(token, { nil: undefined }), data: fc.uint8Array({ maxLength: 100 }) });

test('the messages of a bundle arrive as they were sent, in order', () => {
  fc.assert(
    fc.property(fc.array(bundled, { minLength: 1, maxLength: 20 }), (messages) => {
      const expected = messages.map((message) => ({ sender: SENDER, ...message, data: Buffer.from(message.data) }));
      expect(read(renderBundle(SENDER, messages))).toEqual(expected);
    }),
  );
});

test('a bundle that is cut off gives the messages that are complete', () => {
  const messages = ['+r1', '+r2'].map((name) => ({ token: name, replyToken: undefined, data: Buffer.from('E1\n[]') }));
  const whole = renderBundle(SENDER, messages);
  const complete = Array.from({ length: whole.length }, (_, length) => read(whole.subarray(0, length)).length);
  expect(complete.filter((count, index) => index > 0 && count < (complete[index - 1] ?? 0))).toEqual([]);
  expect(complete.at(-1)).toBe(1);
});

test('any bytes are read without an error', () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => void read(bytes)));
  fc.assert(fc.property(fc.string({ maxLength: 200 }), (text) => void read(Buffer.from(`${SENDER}\n${text}`))));
});

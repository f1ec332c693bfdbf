import fc from 'fast-check';
import { testCases } from '#testing/long-run.js';
import { IncomingBody } from './incoming-body.js';

const bodies = fc.record({ chunks: fc.array(fc.uint8Array({ minLength: 1 })), declared: fc.boolean() });

testCases('the bytes are joined in order, however they are split', { usual: 500, long: 20_000 }, bodies, ({ chunks, declared }) => {
  const expected = Buffer.concat(chunks);
  const body = new IncomingBody(declared ? expected.length : undefined);
  const pushed = chunks.map((chunk) => Buffer.from(chunk));
  for (const chunk of pushed) body.push(chunk);
  expect([body.length, body.take()]).toEqual([expected.length, expected]);
  expect(Buffer.concat(pushed)).toEqual(expected);
});

test('a body of a single chunk is not copied', () => {
  const body = new IncomingBody(3);
  const chunk = Buffer.from('{ }');
  body.push(chunk);
  expect(body.take().buffer).toBe(chunk.buffer);
});

test('chunks of one byte take at most twice the memory of the body', () => {
  const body = new IncomingBody(undefined);
  for (let count = 0; count < 100_000; count++) body.push(Buffer.from('x'));
  expect(body.take().buffer.byteLength).toBeLessThanOrEqual(2 * 100_000);
});

import fc from 'fast-check';
import { GrowingBuffer } from './growing-buffer.js';

test('returns what was pushed, in any pieces, repeatedly', () => {
  fc.assert(
    fc.property(fc.array(fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 20 }), { maxLength: 4 }), (texts) => {
      const buffer = new GrowingBuffer();
      for (const pieces of texts) {
        for (const piece of pieces) buffer.push(Buffer.from(piece));
        const all = Buffer.concat(pieces);
        expect(buffer.length).toBe(all.length);
        expect(buffer.take()).toEqual(all);
      }
    }),
  );
});

test('pushed pieces stay unchanged', () => {
  const piece = Buffer.from('abcdef');
  const buffer = new GrowingBuffer();
  buffer.push(piece.subarray(0, 2));
  buffer.push(Buffer.from('XY'));
  expect([buffer.take().toString(), piece.toString()]).toEqual(['abXY', 'abcdef']);
});

test('a million pieces of one byte take at most twice their length', () => {
  const buffer = new GrowingBuffer();
  for (let n = 0; n < 1_000_000; n++) buffer.push(Buffer.from([n & 255]));
  expect(buffer.length).toBe(1_000_000);
  expect(buffer.take().buffer.byteLength).toBeLessThanOrEqual(2_000_000);
});

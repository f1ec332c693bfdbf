import fc from 'fast-check';
import { inputLength } from '#inference/embedding-size.js';
import { testCases } from '#testing/long-run.js';
import { splitInputs } from './call-embeddings.js';

const inputs = fc.array(fc.oneof(fc.string({ minLength: 1, maxLength: 9 }), fc.array(fc.nat(9), { minLength: 1, maxLength: 9 })), {
  minLength: 1,
  maxLength: 30,
});
const limits = fc.record({ embeddingInputsMax: fc.integer({ min: 1, max: 8 }), embeddingTokensMax: fc.integer({ min: 1, max: 60 }) });

testCases(
  'parts are the inputs in order, each within the limits or one input',
  { usual: 300, long: 20_000 },
  fc.tuple(inputs, limits),
  ([all, { embeddingInputsMax, embeddingTokensMax }]) => {
    const parts = [...splitInputs(all, { embeddingInputsMax, embeddingTokensMax }, 4)];
    expect(parts.flat()).toEqual(all);
    const size = (part: typeof all): number => part.reduce((sum, input) => sum + inputLength(input) + 2, 0);
    for (const [index, part] of parts.entries()) {
      expect(part.length).toBeLessThanOrEqual(embeddingInputsMax);
      if (part.length > 1) expect(size(part)).toBeLessThanOrEqual(embeddingTokensMax);
      // No part takes less than it could: another call costs time.
      const next = parts[index + 1]?.[0];
      if (next !== undefined) expect(part.length === embeddingInputsMax || size([...part, next]) > embeddingTokensMax).toBe(true);
    }
  },
);

test('long vectors make smaller parts, so that no reply is too large to parse', () => {
  const all = Array.from({ length: 2_048 }, () => 'x');
  expect([256, 1_536, 16_384].map((dimensions) => [...splitInputs(all, {}, dimensions)][0]?.length)).toEqual([2_048, 341, 32]);
});

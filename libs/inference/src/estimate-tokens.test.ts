import { estimateBilledPromptTokens, estimatePromptTokens, leastPromptTokens } from './estimate-tokens.js';
import type { PromptSize } from './prompt-size.js';

const makeSize = (over: Partial<PromptSize>): PromptSize => ({
  textBytes: 0,
  schemaBytes: 0,
  reasoningBytes: 0,
  signatureBytes: 0,
  images: 0,
  ...over,
});

test.each([
  [{}, 1],
  [{ textBytes: 4 }, 1],
  [{ textBytes: 5 }, 2],
  [{ textBytes: 8, images: 3 }, 4802],
  [{ textBytes: 4, schemaBytes: 4, reasoningBytes: 400 }, 2],
])('%j is %d prompt tokens at 1,600 an image', (size, tokens) => {
  expect(estimatePromptTokens(makeSize(size), { tokensPerImageMax: 1600, reasoningEcho: false })).toBe(tokens);
});

test('earlier reasoning counts for a model that gets it', () => {
  expect(estimatePromptTokens(makeSize({ textBytes: 4, reasoningBytes: 400 }), { tokensPerImageMax: 1600, reasoningEcho: true })).toBe(101);
});

test.each([
  [{}, 1600, 1],
  [{ textBytes: 5, schemaBytes: 400, reasoningBytes: 400 }, 1600, 2],
  [{ textBytes: 4, images: 2 }, 1600, 129],
  [{ textBytes: 4, images: 2 }, 10, 21],
])(
  'of a prompt that the upstream does not count, %j at up to %d an image are billed as %d: what not every upstream gets is free',
  (size, perImage, tokens) => {
    expect(estimateBilledPromptTokens(makeSize(size), perImage)).toBe(tokens);
  },
);

test('a prompt that is refused without asking the upstream has more than a token for 8 bytes', () => {
  expect(leastPromptTokens(makeSize({ textBytes: 4_015, schemaBytes: 400, images: 9 }))).toBe(501);
});

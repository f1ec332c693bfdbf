import { estimatePromptTokens, estimateUsage } from './estimate-tokens.js';

test.each([
  [{ textBytes: 0, images: 0 }, 1],
  [{ textBytes: 4, images: 0 }, 1],
  [{ textBytes: 5, images: 0 }, 2],
  [{ textBytes: 8, images: 3 }, 4802],
])('%j is %d prompt tokens at 1,600 an image', (size, tokens) => {
  expect(estimatePromptTokens(size, 1600)).toBe(tokens);
});

test('estimated usage is marked as such, and includes reasoning in the output [T-26]', () => {
  expect(estimateUsage(10, 7, 6)).toEqual({
    promptTokens: 10,
    cachedTokens: 0,
    outputTokens: 4,
    reasoningTokens: 2,
    promptSource: 'estimated',
    outputSource: 'counted',
  });
});

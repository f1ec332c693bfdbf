import { describeChange } from './usage-rows.js';

test.each<[now: bigint, before: bigint, text: string | null]>([
  [112n, 100n, '+12 %'],
  [92n, 100n, '−8 %'],
  [100n, 100n, '0 %'],
  [0n, 100n, '−100 %'],
  [1_234n, 100n, '× 12'],
  [9_007_199_254_740_993_000n, 9_007_199_254_740_993_000n, '0 %'],
  [5n, 0n, null],
])('%s after %s is a change of %s', (now, before, text) => {
  expect(describeChange(now, before)).toBe(text);
});

import { centsToPico, centsToUsd, isAmount, usdToCents } from './cents.js';

test.each([
  [1, '0.01', 10_000_000_000n],
  [2_550, '25.50', 25_500_000_000_000n],
  [Number.MAX_SAFE_INTEGER, '90071992547409.91', 90_071_992_547_409_910_000_000_000n],
])('%i cents are $%s, exactly', (cents, usd, pico) => {
  expect([centsToUsd(cents), centsToPico(cents), usdToCents(usd)]).toEqual([usd, pico, cents]);
});

test('a part of a cent is refused', () => {
  expect(() => usdToCents('0.001')).toThrow(expect.objectContaining({ code: 'invalid_request', param: 'usd' }));
});

test.each([0, -5, 1.5, Number.NaN, 2 ** 53, null, '5'])('%s is no amount', (value) => {
  expect(isAmount(value)).toBe(false);
});

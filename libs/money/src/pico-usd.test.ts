import fc from 'fast-check';
import { parseUsd, picoUsd, renderUsd } from './pico-usd.js';

test.each([
  ['0', '0.00'],
  ['12.5', '12.50'],
  ['0.000000000001', '0.000000000001'],
  ['1.10', '1.10'],
  ['999999999999999.999999999999', '999999999999999.999999999999'],
])('%s dollars are rendered as %s', (text, rendered) => {
  expect(renderUsd(parseUsd(text))).toBe(rendered);
});

test.each(['', '-1', '1.', '.5', '1e3', '0.0000000000001', '1,5', ' 1'])('%j is not a dollar amount', (text) => {
  expect(() => parseUsd(text)).toThrow(RangeError);
});

test('rendered amounts parse back to the same amount', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 10n ** 26n }), (amount) => {
      expect(parseUsd(renderUsd(picoUsd(amount)))).toBe(amount);
    }),
  );
});

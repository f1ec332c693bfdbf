import fc from 'fast-check';
import { isExactNumber, mayHoldLongNumbers, parseExactly } from './exact-json.js';

test.each([
  '{"id":12345678901234567890,"n":1}',
  '[0.1234567890123456789,-9223372036854775808,1e400,0.30000000000000004]',
  '{"text":"12345678901234567890","deep":[{"a":[10000000000000000001]}]}',
])('%s survives parse and stringify unchanged [T-46]', (text) => {
  expect(JSON.stringify(parseExactly(text))).toBe(text);
});

test('numbers that are exact in a double stay numbers', () => {
  expect(parseExactly('[1,1.5,9007199254740991,0.30000000000000004,true,null]')).toEqual([1, 1.5, 9007199254740991, 0.1 + 0.2, true, null]);
  expect([isExactNumber(parseExactly('12345678901234567890') as object), isExactNumber({}), isExactNumber([])]).toEqual([
    true,
    false,
    false,
  ]);
});

test('mayHoldLongNumbers finds every number that must be kept', () => {
  const digits = fc.string({ unit: fc.constantFrom('0', '1', '9'), minLength: 1, maxLength: 20 });
  const number = fc
    .tuple(fc.constantFrom('', '-'), digits, fc.option(digits), fc.constantFrom('', 'e', 'E', 'e+', 'e-'), fc.nat({ max: 420 }))
    .map(([sign, whole, fraction, e, exponent]) => `${sign}1${whole}${fraction ? `.${fraction}` : ''}${e && e + exponent}`);
  let kept = 0;
  fc.assert(
    fc.property(number, (text) => {
      const isKept = typeof parseExactly(text) !== 'number';
      if (isKept) kept++;
      expect(isKept && !mayHoldLongNumbers(`[${text}]`)).toBe(false);
    }),
    { numRuns: 2_000 },
  );
  expect(kept).toBeGreaterThan(100);
});

test.each(['{"a":1,"b":[-0.5,1e10,123456789012345]}', '{"created":1732000000,"id":"call_a1b2c3d4e5f6"}'])(
  '%s has no long numbers',
  (text) => {
    expect(mayHoldLongNumbers(text)).toBe(false);
  },
);

test('throws for invalid JSON', () => {
  expect(() => parseExactly('{')).toThrow(SyntaxError);
});

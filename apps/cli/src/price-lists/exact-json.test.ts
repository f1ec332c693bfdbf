import { Literal, parseExactJson, scaleExactly } from './exact-json.js';

test.each<[literal: string, exponent: number, amount: bigint | undefined]>([
  ['3e-07', 12, 300_000n],
  ['3E-7', 12, 300_000n],
  ['0.0000003', 12, 300_000n],
  ['5.46875e-07', 12, 546_875n],
  ['0.1', 6, 100_000n],
  ['0.3', 6, 300_000n],
  ['2.5', 6, 2_500_000n],
  ['10', 6, 10_000_000n],
  ['1e+1', 6, 10_000_000n],
  ['0.0', 12, 0n],
  // Not whole, or what binary arithmetic once made of 3e-06.
  ['8.3333333e-08', 12, undefined],
  ['2.9999999999999997e-06', 12, undefined],
  ['1e-13', 12, undefined],
  ['-1', 12, undefined],
  ['1e99999', 12, undefined],
])('%s times 10^%i is %s', (literal, exponent, amount) => {
  const [parsed] = parseExactJson(`[${literal}]`) as Literal[];
  expect(parsed).toEqual(new Literal(literal));
  expect(scaleExactly(parsed as Literal, exponent)).toBe(amount);
});

test('keeps what is no number', () => {
  expect(parseExactJson('{"a": "1e-6", "b": [true, null], "c": {"d": 1}}')).toEqual({
    a: '1e-6',
    b: [true, null],
    c: { d: new Literal('1') },
  });
});

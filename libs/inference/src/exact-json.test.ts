import { isExactNumber, parseExactly } from './exact-json.js';

test.each([
  '{"id":12345678901234567890,"n":1}',
  '[0.1234567890123456789,-9223372036854775808,1e400,0.30000000000000004]',
  '{"text":"12345678901234567890","deep":[{"a":[10000000000000000001]}]}',
])('T-46: %s is written as it was read', (text) => {
  expect(JSON.stringify(parseExactly(text))).toBe(text);
});

test('numbers that a double holds are numbers', () => {
  expect(parseExactly('[1,1.5,9007199254740991,0.30000000000000004,true,null]')).toEqual([1, 1.5, 9007199254740991, 0.1 + 0.2, true, null]);
  expect([isExactNumber(parseExactly('12345678901234567890') as object), isExactNumber({}), isExactNumber([])]).toEqual([
    true,
    false,
    false,
  ]);
});

test('what is no JSON is refused', () => {
  expect(() => parseExactly('{')).toThrow(SyntaxError);
});

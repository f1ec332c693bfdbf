import fc from 'fast-check';
import { ToolInput } from './tool-input.js';

function pieces(...written: string[]): string[] {
  const input = new ToolInput();
  return [...written.map((piece) => input.push(piece)), input.end()];
}

function whole(written: string): string {
  return pieces(written).join('');
}

test('complete members are released in the text of the model [M-26]', () => {
  expect(pieces('{"city":', '"Os', 'lo", "at', '": {"x":[1,', '2]} ', ', "n":', '1', '2}')).toEqual([
    '',
    '',
    '{"city":"Oslo"',
    '',
    '',
    ', "at": {"x":[1,2]} ',
    '',
    ', "n":12',
    '}',
  ]);
});

test.each([
  '{}',
  ' {"a" : 1}',
  '{"a":"}],{\\""}',
  '{"a":[{"b":"\\\\"}],"c":null}',
  '{"big":12345678901234567890,"tiny":1e-400,"precise":0.10000000000000000000000001}',
  '{"__proto__":1}',
])('%s is released unchanged [T-46]', (written) => {
  expect(whole(written)).toBe(written.trim());
});

test.each(['{ }', ' {\n} '])('an object without members becomes {}: %j [T-20]', (written) => {
  expect(whole(written)).toBe('{}');
});

test.each([
  ['nothing', '', '{'],
  ['white space', ' ', '{'],
  ['no object', '"text"', '{'],
  ['an array', '[1]', '{'],
  ['null', 'null', '{'],
  ['words', 'I call it', '{'],
  ['single quotes', "{'a':1}", '{'],
  ['a bare word', '{a:1}', '{'],
  ['cut before the first value', '{"a":', '{'],
  ['cut in the first text', '{"a":"once', '{'],
  ['cut in a number, which may have gone on', '{"a":1', '{'],
  ['cut in the second value', '{"a":1,"b":"once upon', '{"a":1,'],
  ['cut in an escape', '{"a":1,"b":"once\\', '{"a":1,'],
  ['cut before the end', '{"a":1,"b":2,', '{"a":1,"b":2,'],
  ['a comma too many', '{"a":1,}', '{"a":1,'],
  ['a comma alone', '{,}', '{'],
  ['a comma first', '{,"a":1}', '{'],
  ['the wrong bracket', '{"a":1]', '{'],
  ['brackets that do not match', '{"a":[1},"b":2}', '{'],
  ['a raw line break in a text', '{"a":"one\ntwo","b":2}', '{'],
  ['words after it', '{"a":1}</tool_call>', '{"a":1,'],
  ['another object after it', '{"a":1}{"b":2}', '{"a":1,'],
])('%s becomes an object with `_raw` [U-21]', (_name, written, start) => {
  expect(whole(written)).toBe(`${start}"_raw":${JSON.stringify(written)}}`);
});

test('members nested too deeply stay text [U-21]', () => {
  const nested = (levels: number) => `{"a":1,"b":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;
  expect(whole(nested(100))).toBe(nested(100));
  for (const levels of [101, 225_000]) {
    const text = nested(levels);
    expect(whole(text)).toBe(`{"a":1,"_raw":${JSON.stringify(text)}}`);
    expect(pieces(text.slice(0, 150), text.slice(150)).join('')).toBe(whole(text));
  }
  const brackets = `{"a":"${'['.repeat(200)}"}`;
  expect(whole(brackets)).toBe(brackets);
});

test.each([
  ['a half alone', '{"a\\uD83d":["\\ude42\\ud83d","\\ud83dx"]}', '{"a\\ufffd":["\\ufffd\\ufffd","\\ufffdx"]}'],
  ['a pair', '{"a":"\\ud83d\\uDE42"}', '{"a":"\\ud83d\\uDE42"}'],
  ['a half before a pair', '{"a":"\\ud83d\\ud83d\\ude42"}', '{"a":"\\ufffd\\ud83d\\ude42"}'],
  ['words that look like one', '{"a":"\\\\ud83d \\ud7ff"}', '{"a":"\\\\ud83d \\ud7ff"}'],
])('an escaped lone surrogate is replaced: %s [T-45]', (_name, written, expected) => {
  expect(whole(written)).toBe(expected);
});

test('a raw lone surrogate becomes valid JSON', () => {
  expect(JSON.parse(whole('{"a":"\ud83d'))).toEqual({ _raw: '{"a":"\ud83d' });
});

const written = fc.oneof(
  fc.dictionary(fc.string(), fc.jsonValue()).map((value) => JSON.stringify(value)),
  fc.dictionary(fc.string(), fc.jsonValue()).map((value) => JSON.stringify(value, undefined, 2)),
  fc.string({ unit: fc.constantFrom(...'{}[],:" \\a1\n') }),
  fc.json().chain((json) => fc.nat(json.length).map((length) => json.slice(0, length))),
);

test('any text, however split, joins to one JSON object; a JSON object to itself [M-26]', () => {
  fc.assert(
    fc.property(written, fc.array(fc.nat(7)), (text, cuts) => {
      const cut: string[] = [];
      let from = 0;
      for (const length of cuts) {
        cut.push(text.slice(from, from + length));
        from += length;
      }
      const joined = pieces(...cut, text.slice(from)).join('');
      expect(joined).toBe(whole(text));
      expect(JSON.parse(joined)).toEqual(parsed(text) ?? expect.objectContaining({ _raw: text }));
    }),
    { numRuns: 2000 },
  );
});

function parsed(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

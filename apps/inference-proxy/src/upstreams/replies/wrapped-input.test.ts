import fc from 'fast-check';
import { WrappedInput } from './wrapped-input.js';

function read(pieces: readonly string[]): { live: string[]; end: string } {
  const input = new WrappedInput();
  return { live: pieces.map((piece) => input.push(piece)), end: input.end() };
}

function whole(pieces: readonly string[]): string {
  const { live, end } = read(pieces);
  return live.join('') + end;
}

test('an input is unwrapped while it comes [R-1i]', () => {
  expect(read(['{"in', 'put": "*** Be', 'gin\\', 'n+a', '\\u00', 'e9"', '}'])).toEqual({
    live: ['', '*** Be', 'gin', '\n+a', '', 'é', ''],
    end: '',
  });
});

test.each([
  ['nothing', '{"input":""}', ''],
  ['white space', ' {\n\t"input" : "a" , "more": 1}', 'a'],
  ['every escape', '{"input":"\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041"}', '"\\/\b\f\n\r\tA'],
  ['a line break that should have been escaped', '{"input":"a\nb"}', 'a\nb'],
  ['escapes that are none', '{"input":"\\d+ \\u12"}', '\\d+ \\u12'],
  ['cut within', '{"input":"*** Begin\\nUpda', '*** Begin\nUpda'],
  ['cut within an escape', '{"input":"a\\u00', 'a'],
  ['half a character', '{"input":"a\\ud83d"}', 'a\ud83d'],
  ['another member first', '{"why":"x","input":"a"}', 'a'],
  ['a longer name', '{"inputs":"a"}', '{"inputs":"a"}'],
  ['no text', '{"input":{"a":1}}', '{"input":{"a":1}}'],
  ['no JSON', '*** Begin Patch', '*** Begin Patch'],
  ['the opening cut', '{"inp', '{"inp'],
  ['nothing at all', '', ''],
])('%s [U-21]', (_name, text, input) => {
  expect(whole([text])).toBe(input);
  expect(whole(Array.from(text))).toBe(input);
});

/** JSON of a string with any escapes. */
const wrapped = fc.tuple(fc.string({ unit: 'binary' }), fc.boolean(), fc.constantFrom('', ' ', '\n  ')).map(([input, ascii, space]) => {
  const quoted = JSON.stringify(input);
  const escaped = quoted.replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return { input, text: `${space}{${space}"input"${space}:${space}${ascii ? escaped : quoted}${space}}` };
});

test('any input, however written and cut, is what JSON says, and never half a character at a time [R-1i, T-45]', () => {
  fc.assert(
    fc.property(wrapped, fc.array(fc.nat(200)), ({ input, text }, cuts) => {
      const at = [...new Set(cuts.filter((cut) => cut < text.length))].sort((a, b) => a - b);
      const pieces = [0, ...at].map((from, index) => text.slice(from, at[index]));
      const { live, end } = read(pieces);
      expect(live.join('') + end).toBe(input);
      if (input.isWellFormed()) expect(live.every((piece) => piece.isWellFormed())).toBe(true);
    }),
  );
});

test('whatever else it is, it is the same in one piece and in many', () => {
  const text = fc.oneof(
    fc.string(),
    fc.json(),
    fc.json().map((json) => `{"input":${json}`),
    fc.string().map((rest) => `{"input":"${rest}`),
  );
  fc.assert(fc.property(text, (all) => expect(whole(all.split(''))).toBe(whole([all]))));
});

import fc from 'fast-check';
import { testCases } from '#testing/long-run.js';
import { replaceEscapedHalves, replaceHalves } from './whole-characters.js';

/** Texts with whole and half characters, backslashes, and letters that look like escapes. */
const text = fc
  .array(fc.constantFrom('a', '\\', '\\u', 'd83d', '\\ud83d', '"', '\n', '\ud83c', '\udf0d', '🌍', 'é'))
  .map((parts) => parts.join(''));

testCases(
  'JSON keeps its value, but for halves of characters, in keys and values',
  { usual: 500, long: 50_000 },
  fc.array(fc.tuple(text, text), { maxLength: 3 }),
  (entries) => {
    const wrap = (of: (text: string) => string): object => ({
      list: entries.map(([key, value]) => [of(key), { key: of(value), [of(key)]: 1 }]),
    });
    const replaced = replaceHalves(JSON.stringify(wrap((part) => part)));
    expect([replaced.isWellFormed(), JSON.parse(replaced)]).toEqual([true, wrap((part) => part.toWellFormed())]);
  },
);

testCases(
  'the escapes of arguments decode to the same text, but for halves of characters',
  { usual: 500, long: 50_000 },
  fc.tuple(text, fc.boolean()),
  ([value, upper]) => {
    const hex = (unit: string): string => unit.charCodeAt(0).toString(16).padStart(4, '0');
    const escaped = (unit: string): string => `\\u${upper ? hex(unit).toUpperCase() : hex(unit)}`;
    const json = `{"a":"${value.replace(/[^ -~]|["\\]/gu, (character) => Array.from({ length: character.length }, (_, at) => escaped(character.charAt(at))).join(''))}"}`;
    expect(JSON.parse(replaceEscapedHalves(json))).toEqual({ a: value.toWellFormed() });
  },
);

test.each([
  ['{"a":"\\\\ud83d"}', '{"a":"\\\\ud83d"}'],
  ['{"a":"\\\\\\ud83d"}', '{"a":"\\\\\\ufffd"}'],
  ['{"a":"\\uD83C\\uDF0D\\uD83C"}', '{"a":"\\uD83C\\uDF0D\\ufffd"}'],
  ['{"a":"\\udf0d\\ud83c"}', '{"a":"\\ufffd\\ufffd"}'],
  ['{"a":"cut \\ud83', '{"a":"cut \\ud83'],
])('%s becomes %s', (given, expected) => expect(replaceEscapedHalves(given)).toBe(expected));

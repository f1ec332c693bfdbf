import fc from 'fast-check';
import { testCases } from '#testing/long-run.js';
import { REDACTED, redactText } from './redact-text.js';

test.each([
  ['a span', 'key AKIA1 ends', [{ start: 4, end: 9 }], `key ${REDACTED} ends`],
  ['the whole text', 'AKIA1', [{ start: 0, end: 5 }], REDACTED],
  [
    'spans in any order',
    'a1b2c',
    [
      { start: 3, end: 4 },
      { start: 1, end: 2 },
    ],
    `a${REDACTED}b${REDACTED}c`,
  ],
  [
    'spans that overlap',
    'abcdef',
    [
      { start: 1, end: 4 },
      { start: 2, end: 5 },
    ],
    `a${REDACTED}f`,
  ],
  [
    'spans within another',
    'abcdef',
    [
      { start: 1, end: 5 },
      { start: 2, end: 3 },
    ],
    `a${REDACTED}f`,
  ],
  [
    'spans that touch',
    'abcdef',
    [
      { start: 1, end: 3 },
      { start: 3, end: 5 },
    ],
    `a${REDACTED}f`,
  ],
  ['a span after characters of two units', '🙂🙂key', [{ start: 2, end: 5 }], `🙂🙂${REDACTED}`],
  ['one character of two units', 'a🙂b', [{ start: 1, end: 2 }], `a${REDACTED}b`],
  ['half of a pair, which counts as a character', 'a\ud83db', [{ start: 1, end: 2 }], `a${REDACTED}b`],
])('%s', (_name, text, spans, redacted) => {
  expect(redactText(text, spans)).toBe(redacted);
});

test.each([
  ['after the text', 'abc', { start: 1, end: 4 }],
  ['after a text of pairs, which has more units than characters', '🙂🙂', { start: 1, end: 3 }],
  ['beyond the text', 'abc', { start: 9, end: 10 }],
])('a span %s is none of it', (_name, text, span) => {
  expect(redactText(text, [span])).toBeUndefined();
});

const drawSpans = (length: number) =>
  fc.array(fc.tuple(fc.nat(length), fc.nat(length)).map(([one, other]) => ({ start: Math.min(one, other), end: Math.max(one, other) })));

testCases(
  'what is left is every character outside of the spans, and one mark for each run of those inside',
  { usual: 300, long: 200_000 },
  fc
    .array(fc.constantFrom('a', 'é', '🙂', '中', '\ud800', '\u0301'), { maxLength: 40 })
    .map((characters) => [...characters.join('')])
    .chain((characters) =>
      drawSpans(characters.length).map((spans) => ({ characters, spans: spans.filter(({ start, end }) => start < end) })),
    ),
  ({ characters, spans }) => {
    const isHidden = characters.map((_, at) => spans.some(({ start, end }) => at >= start && at < end));
    const expected = characters.map((character, at) => (isHidden[at] ? (isHidden[at - 1] ? '' : REDACTED) : character)).join('');
    expect(redactText(characters.join(''), spans)).toBe(expected);
  },
);

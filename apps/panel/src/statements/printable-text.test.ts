import { toPrintable } from './printable-text.js';

/** A font with ASCII, Cyrillic, Hebrew and the letters of Latin-1. */
const hasGlyph = (codePoint: number) => codePoint < 0x600;

test.each([
  ['what the font has stays', 'Café Ромашка (R&D) \\ 100 %', 'Café Ромашка (R&D) \\ 100 %'],
  ['a decomposed letter is one', 'Cafe\u0301', 'Café'],
  ['line breaks and tabs are spaces', 'one\r\ntwo\tthree\u2028four', 'one two three four'],
  ['marks that turn the direction are dropped', 'a\u202eb\u2066c\u200bd\u00ade', 'abcde'],
  ['what the font lacks is a box, each character one', '東京 😀', '□□ □'],
  ['half a pair is a box', 'a\ud800', 'a□'],
  ['scripts from right to left are boxes', 'שלום Ltd', '□□□□ Ltd'],
])('%s', (_, text, printed) => {
  expect(toPrintable(text, hasGlyph)).toBe(printed);
});

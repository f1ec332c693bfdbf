/** Stands for a character that a file does not show. The font of the files has it. */
export const PLACEHOLDER = '□';

const BREAKS = /[\p{Cc}\p{Z}]+/gu;
/** Joiners, marks of direction and the like: nothing is seen of them, but that they reorder or join what is. */
const INVISIBLE = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;
/** Scripts that run from right to left: a line of a file runs from left to right alone, in which their words would stand in the wrong order. */
const RIGHT_TO_LEFT = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u;

/**
 * Returns a text of a customer as one line that a file can show: line breaks become spaces, and a character that the font lacks, or whose script
 * runs from right to left, becomes `PLACEHOLDER`.
 */
export function toPrintable(text: string, hasGlyph: (codePoint: number) => boolean): string {
  const line = text.normalize('NFC').replace(BREAKS, ' ').replace(INVISIBLE, '').trim();
  return Array.from(line, (character) =>
    hasGlyph(character.codePointAt(0) ?? 0) && !RIGHT_TO_LEFT.test(character) ? character : PLACEHOLDER,
  ).join('');
}

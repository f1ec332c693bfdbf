/** Characters with which a formula begins: ASCII, full-width and small forms, super- and subscripts, and the minus sign. */
const SIGN = '[=+\\-@＝＋－＠﹦﹢﹣﹫⁼⁺⁻₌₊₋−]';
/** Characters that a spreadsheet skips before a sign: white space, control and invisible characters, and quotes that it takes for its own. */
const SKIPPED = '["\\s\\p{C}\\p{Z}\\p{Default_Ignorable_Code_Point}]*';
/** A sign at the start of the text, or behind a character at which some spreadsheets begin another cell. */
const FORMULA = new RegExp(`([;\\t\\r\\n]|^)(?=${SKIPPED}${SIGN})`, 'gu');
const NUMBER = /^-?\d+(\.\d+)?$/;
const SEPARATOR = /[",;'\s\p{C}]/u;

/**
 * Renders a cell of a CSV file (RFC 4180). Names and reasons are written by customers: an apostrophe keeps a spreadsheet from running them as
 * a formula, also one that separates cells by semicolons. Numbers stay numbers.
 */
export function renderCell(value: string | number | null | undefined): string {
  if (value === null || value === undefined) return '';
  const text = String(value);
  if (NUMBER.test(text)) return text;
  const safe = text.replace(FORMULA, "$1'");
  return SEPARATOR.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

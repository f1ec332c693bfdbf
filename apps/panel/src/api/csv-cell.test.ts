import fc from 'fast-check';
import { testCases } from '#testing/long-run.js';
import { renderCell } from './csv.js';

test.each([
  ['a comma and quotes', 'a "b", c', '"a ""b"", c"'],
  ['a line break', 'a\nb', '"a\nb"'],
  ['a semicolon', 'a;b', '"a;b"'],
  ['a formula', '=1+1', '"\'=1+1"'],
  ['a formula behind a sign', '-1+cmd', '"\'-1+cmd"'],
  ['a formula behind a semicolon', 'x;=1+1', '"x;\'=1+1"'],
  ['a formula behind a semicolon and a quote', 'x;"=1+1', '"x;\'""=1+1"'],
  ['a formula on the second line', 'x\n=1+1', '"x\n\'=1+1"'],
  ['a formula behind a space', ' =1+1', '"\' =1+1"'],
  ['a formula behind a line feed', '\n=1+1', '"\n\'=1+1"'],
  ['a formula behind a zero-width space', '\u200b@SUM(A1)', '"\'\u200b@SUM(A1)"'],
  ['a formula in full width', '＝1+1', '"\'＝1+1"'],
  ['a negative amount', '-1.5', '-1.5'],
  ['a number', -7, '-7'],
  ['an id', '0190a6f0-7c1e-7000-8000-000000000001', '0190a6f0-7c1e-7000-8000-000000000001'],
  ['a name with a dash', 'gpt-4', 'gpt-4'],
  ['nothing', null, ''],
])('%s', (_, value, cell) => {
  expect(renderCell(value)).toBe(cell);
});

test('every character that Unicode makes a sign of begins a formula [sec-csv-formula]', () => {
  const signs: string[] = [];
  for (let code = 0; code <= 0x10ffff; code++) {
    const one = String.fromCodePoint(code);
    if (/^[=+\-@]/.test(one.normalize('NFKC'))) signs.push(one);
  }
  expect(signs.length).toBeGreaterThan(10);
  expect(signs.filter((sign) => renderCell(`${sign}1+1`) !== `"'${sign}1+1"`)).toEqual([]);
});

const SIGNS = [...'=+-@＝＋－＠'];
const hostile = fc.oneof(
  fc.constantFrom(
    ...SIGNS,
    '﹦',
    '⁺',
    '−',
    ' ',
    '\t',
    '\n',
    '\r',
    '\r\n',
    ';',
    ',',
    '"',
    "'",
    '\u200b',
    '\ufeff',
    '\u00a0',
    '\u3000',
    '\u2060',
    '\0',
  ),
  fc.constantFrom('1', 'x', 'é', '.', '1.5'),
  fc.string({ unit: 'binary', maxLength: 2 }),
);
const texts = fc.array(hostile, { maxLength: 12 }).map((parts) => parts.join(''));

/** Splits a file into cells as a spreadsheet does: quotes count only at the start of a cell, and what follows the closing one is kept. */
function parseCells(file: string, separator: string): string[] {
  const cells: string[] = [];
  let cell = '';
  let state: 'start' | 'plain' | 'quoted' = 'start';
  for (let at = 0; at < file.length; at++) {
    const one = file.charAt(at);
    if (state === 'quoted') {
      if (one !== '"') cell += one;
      else if (file[at + 1] === '"') cell += file.charAt(at++);
      else state = 'plain';
    } else if (state === 'start' && one === '"') state = 'quoted';
    else if (one === separator || one === '\n' || one === '\r') {
      cells.push(cell);
      [cell, state] = ['', 'start'];
    } else [cell, state] = [cell + one, 'plain'];
  }
  return [...cells, cell];
}

function isFormula(cell: string): boolean {
  if (/^-?\d+(\.\d+)?$/.test(cell)) return false;
  const seen = cell.normalize('NFKC').replace(/^[\s\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]+/u, '');
  return SIGNS.slice(0, 4).includes(seen.charAt(0));
}

testCases(
  'no text becomes a formula, whichever character separates cells, and no text is lost [sec-csv-formula]',
  { usual: 3_000, long: 300_000 },
  fc.array(texts, { minLength: 1, maxLength: 4 }),
  (row) => {
    const line = ['id', ...row.map(renderCell), 'end'].join(',');
    for (const separator of [',', ';', '\t']) expect(parseCells(line, separator).filter(isFormula)).toEqual([]);
    const without = (text: string): string => text.replaceAll("'", '');
    expect(parseCells(line, ',').map(without)).toEqual(['id', ...row.map(without), 'end']);
  },
);

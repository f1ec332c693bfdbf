/** A field in quotes, or one without, and the comma or line end after it. */
const FIELD = /(?:"([^"]*(?:""[^"]*)*)"|([^",\n]*))([,\n])/g;

/** Parses whole lines of CSV. A field without quotes that is empty is null. */
export function parseLines(lines: string): (string | null)[][] {
  const rows: (string | null)[][] = [];
  let row: (string | null)[] = [];
  for (const [, quoted, plain, end] of lines.matchAll(FIELD)) {
    row.push(quoted === undefined ? plain || null : quoted.replaceAll('""', '"'));
    if (end === ',') continue;
    rows.push(row);
    row = [];
  }
  return rows;
}

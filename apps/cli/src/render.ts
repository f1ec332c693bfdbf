import { parsePicoUsd, picoUsd, renderUsd } from '#money/pico-usd.js';

type Cell = string | number | boolean | null;

/** Aligned columns under their headings; numbers to the right. `nothing` stands for an empty list. */
export function renderTable<Row>(rows: readonly Row[], columns: Record<string, (row: Row) => Cell>, nothing: string): string {
  if (rows.length === 0) return nothing;
  const headings = Object.keys(columns);
  const cells = rows.map((row) => Object.values(columns).map((read) => read(row)));
  const lines = [headings, ...cells.map((line) => line.map(renderCell))];
  const widths = headings.map((_, column) => Math.max(...lines.map((line) => (line[column] ?? '').length)));
  const numeric = headings.map((_, column) => cells.every((line) => typeof line[column] === 'number'));
  return lines
    .map((line) =>
      line
        .map((cell, column) => pad(cell, widths[column] ?? 0, numeric[column] === true))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** One field a line. */
export function renderFields(fields: Record<string, Cell>): string {
  const width = Math.max(...Object.keys(fields).map((label) => label.length));
  return Object.entries(fields)
    .map(([label, value]) => `${label.padEnd(width)}  ${renderCell(value)}`)
    .join('\n');
}

/** `$12.50 (12500000000000 pico)`: to read, and exact. */
export function renderMoney(amountPicoUsd: string): string {
  return `${renderDollars(amountPicoUsd)} (${amountPicoUsd} pico)`;
}

/** `$12.50`, exact too: as many decimals as it takes. */
export function renderDollars(amountPicoUsd: string): string {
  const dollars = renderUsd(parsePicoUsd(amountPicoUsd));
  return dollars.startsWith('-') ? `-$${dollars.slice(1)}` : `$${dollars}`;
}

/** A price a token as the list price it came from: `$0.15` per million tokens. */
export function renderPerMillion(picoUsdPerToken: string): string {
  return `$${renderUsd(picoUsd(BigInt(picoUsdPerToken) * 1_000_000n))}`;
}

/** What others have named must not be able to steer the terminal. */
function renderCell(cell: Cell): string {
  if (cell === null) return '-';
  if (typeof cell === 'boolean') return cell ? 'yes' : 'no';
  return String(cell).replace(/\p{Cc}/gu, '\u{fffd}');
}

function pad(cell: string, width: number, right: boolean): string {
  return right ? cell.padStart(width) : cell.padEnd(width);
}

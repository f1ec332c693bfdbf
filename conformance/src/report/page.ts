import { dollars } from '../money/terms.ts';
import type { RowResult } from '../run-rows.ts';
import { addUp, GROUP_TITLES, type Run } from './summary.ts';

const COLUMNS = ['row', 'result', 'expected $', 'billed $', 'off, pico-$', 'on hold, pico-$', 'what was seen'];

type Cells = string[];

/** A report as tables, from which Markdown and HTML are written. */
interface Page {
  title: string;
  lines: string[];
  sections: { title: string; rows: Cells[] }[];
}

export function renderMarkdown(run: Run): string {
  const { title, lines, sections } = makePage(run);
  const tables = sections.map(({ title: heading, rows }) => {
    const line = (cells: Cells): string => `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`;
    return `## ${heading}\n\n${line(COLUMNS)}\n|${'---|'.repeat(COLUMNS.length)}\n${rows.map(line).join('\n')}`;
  });
  return `${[`# ${title}`, ...lines, ...tables].join('\n\n')}\n`;
}

/** One file without scripts, links or fonts. */
export function renderHtml(run: Run): string {
  const { title, lines, sections } = makePage(run);
  const escapeHtml = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const cells = (tag: string, all: Cells): string => all.map((cell) => `<${tag}>${escapeHtml(cell)}</${tag}>`).join('');
  const tables = sections.map(
    ({ title: heading, rows }) =>
      `<h2>${escapeHtml(heading)}</h2>\n<div><table><thead><tr>${cells('th', COLUMNS)}</tr></thead><tbody>\n${rows.map((row) => `<tr class="${row[1]?.replace(' ', '-')}">${cells('td', row)}</tr>`).join('\n')}\n</tbody></table></div>`,
  );
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(title)}</title>
<style>
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif }
body { margin: 2rem auto; padding: 0 1rem; max-width: 80rem }
div { overflow-x: auto }
table { border-collapse: collapse; font-size: .85rem }
th, td { text-align: left; vertical-align: top; padding: .25rem .6rem; border-bottom: 1px solid #8885 }
td:nth-child(n+3):nth-child(-n+6) { font-variant-numeric: tabular-nums; text-align: right; white-space: nowrap }
tr.failed td:nth-child(2), tr.broken td:nth-child(2) { color: #c22; font-weight: 600 }
tr.passed td:nth-child(2) { color: #283 }
</style></head><body>
<h1>${escapeHtml(title)}</h1>
${lines.map((line) => `<p>${escapeHtml(line)}</p>`).join('\n')}
${tables.join('\n')}
</body></html>
`;
}

function makePage(run: Run): Page {
  const { rows } = run;
  const totals = addUp(rows);
  const { passed, failed, broken } = totals.counts;
  const money =
    totals.moneyRows === 0
      ? 'No row has dollars: the product bills nothing.'
      : `${totals.moneyRows} rows have dollars: $${dollars(totals.billedPicoUsd)} billed, ${totals.offPicoUsd} pico-dollars off in sum, ${totals.heldPicoUsd} left on hold.`;
  const groups = [...new Set(rows.map(({ group }) => group))];
  return {
    title: `Money conformance: ${run.product}`,
    lines: [
      `${run.about}.${run.version ? ` Version ${run.version}.` : ''}`,
      `${rows.length} rows in ${run.seconds} s, seed ${run.seed}, ${run.machine}: ${passed} passed, ${failed} failed, ${totals.counts['not offered']} not offered${broken > 0 ? `, ${broken} could not be run` : ''}.`,
      money,
      'Expected is what the scripted upstream has served, by the terms of the kit; billed is what the product charged. One row by hand: --only with its name.',
    ],
    sections: groups.map((group) => ({ title: GROUP_TITLES[group], rows: rows.filter((row) => row.group === group).map(makeCells) })),
  };
}

function makeCells({ id, title, result, money, faults, note }: RowResult): Cells {
  const amounts = money
    ? [
        dollars(money.expectedPicoUsd),
        dollars(money.billedPicoUsd),
        String(money.billedPicoUsd - money.expectedPicoUsd),
        money.heldPicoUsd === null ? 'none kept' : String(money.heldPicoUsd),
      ]
    : ['', '', '', ''];
  const seen = [...faults, ...(note ? [note] : [])].join('. ');
  return [`${id}: ${title}`, result, ...amounts, seen];
}

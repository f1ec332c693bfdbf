import { extractText, getDocumentProxy } from 'unpdf';
import { renderCell } from '../api/csv.js';
import { STATEMENT_COLUMNS, statementTable } from '../api/statement-table.js';
import type { Statement, StatementLine } from '../shapes/billing.js';
import { renderStatementPdf } from './render-pdf.js';

const PERIOD = { accountId: '0190a6f0-7c1e-7000-8000-00000000000a', month: '2027-01', isClosed: true, receipts: null };
const TIMES = { from: '2027-01-01T00:00:00.000Z', to: '2027-02-01T00:00:00.000Z' };

/** A statement whose lines lead from the opening to the closing amount. */
function makeStatement(lines: Partial<StatementLine>[], opening = 0n): Statement {
  let balance = opening;
  const sums = { in: 0n, cost: 0n };
  const complete = lines.map((line): StatementLine => {
    const amount = BigInt(line.amountPicoUsd ?? 0);
    balance += amount;
    sums[line.kind === 'usage' ? 'cost' : 'in'] += amount;
    const rest = { at: TIMES.from, kind: 'topup' as const, reference: null, reason: null, requests: null, ...line };
    return { ...rest, amountPicoUsd: String(amount), balancePicoUsd: String(balance) };
  });
  return {
    ...{ ...PERIOD, ...TIMES, outPicoUsd: '0', forfeitedPicoUsd: '0' },
    ...{ openingPicoUsd: String(opening), inPicoUsd: String(sums.in), costPicoUsd: String(-sums.cost), closingPicoUsd: String(balance) },
    lines: complete,
  };
}

/** The text of each page, in the order of writing. */
async function read(statement: Statement, name = 'Acme'): Promise<string[]> {
  const bytes = new Uint8Array(await renderStatementPdf(statement, name)); // no Buffer: the library refuses those
  const { text } = await extractText(await getDocumentProxy(bytes), { mergePages: false });
  return text;
}

/** Amounts and balances of the lines of the CSV file. */
function listAmounts(statement: Statement): string[] {
  return statementTable(statement)
    .slice(1, -1)
    .map((row) => ['amountUsd', 'balanceUsd'].map((name) => renderCell(STATEMENT_COLUMNS[name]?.(row))).join(' '));
}

const unpadded = (text: string): string => text.replace(/(\.\d\d\d*?)0*$/, '$1');

test('its sums and every line are those of the CSV file, to the last digit', async () => {
  const statement = makeStatement(
    [
      { kind: 'topup', amountPicoUsd: '25000000000000', reference: 'inv-1' },
      { kind: 'usage', amountPicoUsd: '-1234567890123', requests: 2 },
      { kind: 'credit-note', amountPicoUsd: '1', reference: 'cn-1', reason: 'a useless reply' },
    ],
    999_999_999_999_999_999n,
  );
  const [page = ''] = await read(statement);
  const [, closing] = /Closing balance at the end (-?[\d.]+)/.exec(page.replace(/\s+/g, ' ')) ?? [];
  const rows = [...page.matchAll(/(-?\d+\.\d{12})\s+(-?\d+\.\d{12})\s*\n/g)].map(([, amount = '', balance = '']) => [amount, balance]);
  const last = statementTable(statement).at(-1);
  expect(closing && unpadded(closing)).toBe(last && STATEMENT_COLUMNS.balanceUsd?.(last));
  expect(rows.map((row) => row.map(unpadded).join(' '))).toEqual(listAmounts(statement));
});

test('the same statement is the same bytes', async () => {
  const statement = makeStatement([{ kind: 'usage', amountPicoUsd: '-5', requests: 1 }]);
  const [one, other] = [await renderStatementPdf(statement, 'Acme'), await renderStatementPdf(statement, 'Acme')];
  expect(Buffer.compare(one, other)).toBe(0);
});

test('hundreds of lines are on many pages, each line once, each page with its number', async () => {
  const statement = makeStatement(
    Array.from({ length: 500 }, (_, at) => ({
      amountPicoUsd: `${at + 1}000000000`,
      reference: `inv-${at}`,
      reason: 'x'.repeat((at * 37) % 490),
    })),
  );
  const pages = await read(statement);
  const count = pages.length;
  expect(count).toBeGreaterThan(10);
  expect(pages.map((page) => /page \d+ of \d+/.exec(page)?.[0])).toEqual(pages.map((_, at) => `page ${at + 1} of ${count}`));
  const references = [...pages.join('\n').matchAll(/inv-\d+/g)].map(([reference]) => reference);
  expect(references).toEqual(statement.lines.map(({ reference }) => reference));
});

test('odd names are shown as they are, and what cannot be shown is a box with a note', async () => {
  const odd = makeStatement([{ amountPicoUsd: '5', reference: 'a)b(c\\', reason: 'Müller & Söhne <b> =1+1 Ромашка Ελλάδα' }]);
  const [plain = ''] = await read(odd, ') Tj (Acme');
  expect(plain).toContain(') Tj (Acme');
  expect(plain.replace(/\s+/g, ' ')).toContain('a)b(c\\, Müller & Söhne <b> =1+1 Ромашка Ελλάδα');
  expect(plain).not.toContain('□');
  const [boxed = ''] = await read(odd, '東京');
  expect([boxed.includes('□□'), boxed.replace(/\s+/g, ' ').includes('□ stands for a character that this file does not show.')]).toEqual([
    true,
    true,
  ]);
});

import { hashLeaf, joinRoots, makePaths } from '#receipts/merkle-tree.js';
import { digestLine } from '#receipts/published-keys.js';
import { type AccountLine, FORMAT, type MonthLine, renderLine } from '#receipts/receipt-lines.js';
import type { Query } from './month-files.js';
import type { AccountMonth } from './receipt-trees.js';

/** Rows of one INSERT. */
const INSERT_ROWS = 1_000;

type AccountSums = Pick<AccountMonth, 'accountId' | 'requests' | 'lateSettlements' | 'cost'> & { root: string };

export function renderAccount(month: string, { accountId, requests, lateSettlements, cost, root }: AccountSums): string {
  return renderLine<AccountLine>({
    type: 'account',
    account_id: accountId,
    month,
    requests: String(requests),
    late_settlements: String(lateSettlements),
    cost_pico_usd: String(cost),
    root,
  });
}

/** Writes the trees of a month that is being closed. */
export async function insertTrees(query: Query, month: string, accounts: readonly AccountMonth[]): Promise<void> {
  const sums = accounts.map((account) => ({ ...account, root: account.root.toString('hex') }));
  const paths = makePaths(sums.map((account) => hashLeaf(renderAccount(month, account))));
  await insert(
    query,
    'month_receipt (month, account_id, requests, late_settlements, cost, root, path)',
    'account_id uuid, requests bigint, late_settlements bigint, cost numeric, root text, path text[]',
    month,
    sums.map(({ accountId, requests, lateSettlements, cost, root }, index) => ({
      account_id: accountId,
      requests: String(requests),
      late_settlements: String(lateSettlements),
      cost: String(cost),
      root,
      path: paths[index],
    })),
  );
  await insert(
    query,
    'month_receipt_part (month, account_id, part, from_at, from_id, from_late, root)',
    'account_id uuid, part integer, from_at timestamptz, from_id uuid, from_late boolean, root text',
    month,
    accounts.flatMap(({ accountId, parts }) =>
      parts.map(({ first: { at, holdId, late }, root }, part) => ({
        ...{ account_id: accountId, part, from_at: at, from_id: holdId, from_late: late, root: root.toString('hex') },
      })),
    ),
  );
}

async function insert(query: Query, into: string, columns: string, month: string, rows: readonly object[]): Promise<void> {
  for (let from = 0; from < rows.length; from += INSERT_ROWS) {
    const page = JSON.stringify(rows.slice(from, from + INSERT_ROWS));
    await query(`INSERT INTO billing.${into} SELECT $1, r.* FROM jsonb_to_recordset($2::jsonb) AS r (${columns})`, [month, page]);
  }
}

/** Renders the line that is signed for a month, from what is stored. `before` is the line of the month before. */
export async function makeMonthLine(query: Query, month: string, digest: string, before: string | undefined): Promise<string> {
  const [installation] = await query<{ id: string }>('SELECT id::text FROM billing.installation', []);
  const accounts = await readAccounts(query, month);
  return renderLine<MonthLine>({
    type: 'month',
    format: FORMAT,
    installation: installation?.id ?? '',
    month,
    digest,
    before: before === undefined ? '' : digestLine(before),
    root: joinRoots(accounts.map((account) => hashLeaf(renderAccount(month, account)))).toString('hex'),
  });
}

/** Reads what accounts of a month are made of, in the order of their ids. */
export async function readAccounts(query: Query, month: string): Promise<AccountSums[]> {
  const rows = await query<Record<keyof AccountSums, string>>(
    `SELECT account_id::text AS "accountId", requests::text, late_settlements::text AS "lateSettlements", cost::text, root
     FROM billing.month_receipt WHERE month = $1 ORDER BY account_id`,
    [month],
  );
  return rows.map((row) => ({
    ...row,
    requests: BigInt(row.requests),
    lateSettlements: BigInt(row.lateSettlements),
    cost: BigInt(row.cost),
  }));
}

export interface StoredMonthLine {
  month: string;
  line: string;
}

/** Reads the lines of all months, the first one first. */
export function readMonthLines(query: Query): Promise<StoredMonthLine[]> {
  return query<StoredMonthLine>('SELECT month, line FROM billing.month_line ORDER BY month', []);
}

export async function insertMonthLine(query: Query, month: string, digest: string): Promise<void> {
  const before = (await readMonthLines(query)).at(-1);
  const line = await makeMonthLine(query, month, digest, before?.line);
  await query('INSERT INTO billing.month_line (month, line) VALUES ($1, $2)', [month, line]);
}

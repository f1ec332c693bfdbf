import { findMonthRows, readMonths } from './closed-months.js';
import { readDetached } from './detached-months.js';
import type { Query } from './month-files.js';
import { makeMonthLine, readAccounts, readMonthLines } from './receipt-roots.js';
import { growTrees } from './receipt-trees.js';

export const RECEIPTS_RULE = { id: 'I20', rule: 'the receipts of a closed month are the settlements that its statements count' };

/**
 * Compares the receipts of the last closed month with its statements, and the lines that are signed with the receipts; with `full` those of
 * every month, and the trees with the rows of the journals, except where some are detached. Returns what differs.
 */
export async function receiptFaults(
  query: Query,
  { full = false, signal }: { full?: boolean; signal?: AbortSignal | undefined } = {},
): Promise<string[]> {
  const [months, detached, lines] = [await readMonths(query), await readDetached(query), await readMonthLines(query)];
  const faults: string[] = [];
  for (const [position, month] of months.entries()) {
    if (!month.manifest?.files.some(({ file }) => file === 'receipts')) continue; // closed before there were receipts
    const at = lines.findIndex((line) => line.month === month.id);
    if (at === -1) faults.push(`${month.id} line`);
    if (at === -1 || !(full || position === months.length - 1)) continue;
    if ((await makeMonthLine(query, month.id, month.digest, lines[at - 1]?.line)) !== lines[at]?.line) faults.push(`${month.id} line`);
    faults.push(...(await missingReceipts(query, month.id)));
    const rows = findMonthRows(months, position);
    const isWhole = detached.at(-1)?.rests[month.id] === undefined;
    if (!full || !rows || !isWhole) continue;
    const roots = new Map((await readAccounts(query, month.id)).map(({ accountId, root }) => [accountId, root]));
    for (const { accountId, root } of await growTrees(query, rows, signal)) {
      if (roots.get(accountId) !== root.toString('hex')) faults.push(`${month.id} receipts of ${accountId}`);
      roots.delete(accountId);
    }
    faults.push(...Array.from(roots.keys(), (accountId) => `${month.id} receipts of ${accountId}`));
  }
  return [...new Set(faults)];
}

/** Accounts whose receipts are other in number or sum than the requests and the cost of their statement. */
async function missingReceipts(query: Query, month: string): Promise<string[]> {
  const differing = await query<{ accountId: string }>(
    `SELECT account_id::text AS "accountId" FROM (
       SELECT account_id, requests, cost FROM billing.month_account WHERE month = $1
       UNION ALL SELECT account_id, -requests, -cost FROM billing.month_receipt WHERE month = $1) both_sides
     GROUP BY account_id HAVING sum(requests) <> 0 OR sum(cost) <> 0 ORDER BY account_id`,
    [month],
  );
  return differing.map(({ accountId }) => `${month} receipts of ${accountId}`);
}

import {
  LEDGER_REPORTS_MAX,
  type LedgerCheckListReply,
  type LedgerCheckListRequest,
  type LedgerCheckReply,
} from '#contracts/billing/ledger.js';
import type { PgConnection } from '#database/pg-connection.js';
import type { PrismaClient } from '#database/prisma-client.js';
import { listFrozenAccounts } from '../accounts/accounts.js';

const LIMIT_DEFAULT = 20;

/** Keeps a report of the ledger check, and deletes those beyond `LEDGER_REPORTS_MAX`. */
export async function keepReport(connection: PgConnection, report: LedgerCheckReply): Promise<void> {
  const values = [report.checkedAt, JSON.stringify(report)];
  await connection.query('INSERT INTO billing.ledger_report (checked_at, report) VALUES ($1, $2) ON CONFLICT DO NOTHING', values);
  await connection.query(
    `DELETE FROM billing.ledger_report
     WHERE checked_at < (SELECT checked_at FROM billing.ledger_report ORDER BY checked_at DESC OFFSET $1 LIMIT 1)`,
    [LEDGER_REPORTS_MAX - 1],
  );
}

export async function listReports(prisma: PrismaClient, { limit = LIMIT_DEFAULT }: LedgerCheckListRequest): Promise<LedgerCheckListReply> {
  // One after the other: a read has one connection.
  const rows = await prisma.ledgerReport.findMany({ orderBy: { checkedAt: 'desc' }, take: limit });
  const frozen = await listFrozenAccounts(prisma);
  return { checks: rows.map(({ report }) => report as unknown as LedgerCheckReply), frozen };
}

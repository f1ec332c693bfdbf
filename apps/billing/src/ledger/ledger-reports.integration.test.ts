import type { LedgerCheckReply } from '#contracts/billing/ledger.js';
import { connectPg, type PgConnection } from '#database/pg-connection.js';
import { LedgerFixture } from '../../test/ledger-fixture.js';
import { updateAccount } from '../accounts/accounts.js';
import { Auditor } from './auditor.js';
import { keepReport, listReports } from './ledger-reports.js';

let ledger: LedgerFixture;
let connection: PgConnection;
beforeEach(async () => {
  ledger = await LedgerFixture.open();
  connection = await connectPg({ url: ledger.url, applicationName: 'test-reports' });
});
afterEach(async () => {
  await connection.end();
  await ledger.close();
});

function makeReport(minute: number): LedgerCheckReply {
  const checkedAt = new Date(Date.UTC(2026, 10, 21, 6, minute)).toISOString();
  return { checkedAt, milliseconds: minute } as LedgerCheckReply;
}

test('a check keeps its report, and frozen accounts are listed with their reasons', async () => {
  const { accountId } = await ledger.customer({ topup: 1_000n });
  const account = await updateAccount(ledger.prisma, { accountId, status: 'frozen', statusReason: 'chargeback' });
  const connect = () => connectPg({ url: ledger.url, applicationName: 'test-auditor' });
  const auditor = new Auditor({ connect, overdueMs: 90_000, intervalMs: 60_000, logger: ledger.logger });
  const report = await auditor.check();
  await auditor.stop();
  expect(await listReports(ledger.prisma, {})).toEqual({ checks: [report], frozen: [account] });
});

test('the last 100 reports stay, newest first; one that is kept twice counts once', async () => {
  for (let minute = 0; minute < 103; minute++) await keepReport(connection, makeReport(minute));
  await keepReport(connection, makeReport(102));
  const { checks } = await listReports(ledger.prisma, { limit: 100 });
  expect(checks).toEqual(Array.from({ length: 100 }, (_, index) => makeReport(102 - index)));
  expect((await listReports(ledger.prisma, { limit: 1 })).checks).toEqual([makeReport(102)]);
});

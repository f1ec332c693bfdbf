import { connectPg } from '#database/pg-connection.js';
import { LedgerFixture, makeReserve, makeUsage } from '../../test/ledger-fixture.js';
import { UsageCloser } from './usage-closer.js';

const ledger = await LedgerFixture.open();
afterAll(() => ledger.close());

function newCloser(onClosed: (at: Date) => void = () => undefined): UsageCloser {
  const connect = () => connectPg({ url: ledger.url, applicationName: 'test-closer' });
  return new UsageCloser({ connect, intervalMs: 50, onClosed, logger: ledger.logger });
}

test('adds usage to the rollups on its schedule until it stops', async () => {
  const customer = await ledger.customer({ topup: 100n });
  const lanes = ledger.newLanes();
  const reserve = makeReserve(customer, 10n);
  await lanes.reserve(reserve);
  await lanes.settle({ holdId: reserve.holdId, accountId: customer.accountId, reason: 'completed', usage: makeUsage(3) });
  const rollup = 'SELECT cost::text, upstream, ending FROM billing.usage_hour WHERE account_id = $1';
  let heard = (): void => undefined;
  const closer = newCloser(() => heard());
  closer.start();
  // Transactions of other databases of the server delay a slice.
  for (;;) {
    await new Promise<void>((resolve) => {
      heard = resolve;
    });
    const { rows } = await ledger.sql.query(rollup, [customer.accountId]);
    if (rows.length === 0) continue;
    expect(rows).toEqual([{ cost: '3', upstream: '', ending: 'completed' }]);
    break;
  }
  await closer.stop();
  expect(await ledger.violations()).toEqual([]);
});

test('callers that ask for a rebuild at the same time get the same one', async () => {
  const closer = newCloser();
  const [first, second] = await Promise.all([closer.rebuild(), closer.rebuild()]);
  expect(second).toBe(first);
  await closer.stop();
  await expect(closer.rebuild()).rejects.toThrow('aborted');
});

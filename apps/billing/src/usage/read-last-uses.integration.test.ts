import { connectPg } from '#database/pg-connection.js';
import { LedgerFixture, makeReserve, makeUsage } from '../../test/ledger-fixture.js';
import { rebuildUsage } from './close-usage.js';
import { readLastUses } from './read-last-uses.js';

const ledger = await LedgerFixture.open();
afterAll(() => ledger.close());

test('the last use of a key is the end of its newest request, from the journal and from the rollups', async () => {
  const [used, unused] = [await ledger.customer({ topup: 1_000n }), await ledger.customer()];
  const start = Date.parse('2026-03-02T00:00:00Z');
  let clock = start;
  const lanes = ledger.newLanes({ now: () => clock });
  const lastUses = async () => [...(await readLastUses(ledger.prisma, [used.keyId, unused.keyId]))];
  const request = async (at: number, model: string): Promise<void> => {
    clock = at;
    const reserve = { ...makeReserve(used, 10n), model };
    await lanes.reserve(reserve);
    await lanes.settle({ holdId: reserve.holdId, accountId: used.accountId, reason: 'completed', usage: makeUsage(1) });
  };
  expect(await lastUses()).toEqual([]);
  await request(start, 'a');
  await request(start + 5_000, 'b');
  await request(start + 1_000, 'c');
  const newest = [[used.keyId, new Date(start + 5_000)]];
  expect(await lastUses()).toEqual(newest);
  const connection = await connectPg({ url: ledger.url, applicationName: 'test-usage' });
  await rebuildUsage(connection);
  await connection.end();
  expect(await lastUses()).toEqual(newest);
  await request(start + 9_000, 'a');
  expect(await lastUses()).toEqual([[used.keyId, new Date(start + 9_000)]]);
});

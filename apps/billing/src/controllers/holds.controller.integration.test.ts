import { randomUUID } from 'node:crypto';
import { JournalReads } from '#database/journal-reads.js';
import { LedgerFixture, makeReserve, makeUsage } from '../../test/ledger-fixture.js';
import { Renewals } from '../holds/renewals.js';
import { HoldsController } from './holds.controller.js';

const ledger = await LedgerFixture.open();
const { connect, logger, prisma } = ledger;
const renewals = new Renewals(60_000, { connect, batchMax: 10, queueMax: 10, deadlineMs: 5_000, logger });
const controller = new HoldsController(
  ledger.newLanes({ lanes: 1, accountQueueMax: 2 }),
  renewals,
  new JournalReads(prisma, { runningMax: 6, shareMax: 2 }),
);
afterEach(async () => expect(await ledger.violations()).toEqual([]));
afterAll(() => ledger.close());

const FULL = { code: 'unavailable', message: 'Too many requests of this account are waiting.' };

test('in a partial message only the items of an account with a full queue fail', async () => {
  const [busy, other] = [await ledger.customer({ topup: 1_000n }), await ledger.customer({ topup: 1_000n })];
  const [first, second, third] = [makeReserve(busy, 10n), makeReserve(busy, 10n), makeReserve(busy, 10n)];
  const settle = { holdId: randomUUID(), accountId: other.accountId, reason: 'completed' as const, usage: makeUsage(1) };
  const last = makeReserve(other, 20n);
  expect(await controller.apply({ settles: [settle], reserves: [first, second, third, last], partial: true })).toEqual({
    settles: [{ status: 'unknown', holdId: settle.holdId, costPicoUsd: '0' }],
    reserves: [
      { status: 'held', holdId: first.holdId, leaseMs: 60_000, requests: expect.any(Object) },
      { status: 'held', holdId: second.holdId, leaseMs: 60_000, requests: expect.any(Object) },
      { status: 'failed', holdId: third.holdId, ...FULL },
      { status: 'held', holdId: last.holdId, leaseMs: 60_000, requests: expect.any(Object) },
    ],
  });
  expect(await ledger.account(busy.accountId)).toMatchObject({ topup_held: '20', open_holds: 2 });
});

test('a message that is not partial fails as a whole', async () => {
  const busy = await ledger.customer({ topup: 1_000n });
  const reserves = Array.from({ length: 3 }, () => makeReserve(busy, 10n));
  await expect(controller.apply({ settles: [], reserves })).rejects.toMatchObject({ error: FULL });
});

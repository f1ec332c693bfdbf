import type { SettleReason, TokenUsage } from '#contracts/billing/holds.js';
import { type Price, priceUsage } from '#money/price.js';
import { renderPriceText } from '#money/price-plan.js';
import { type Customer, LedgerFixture, makeReserve, makeUsage } from '../../test/ledger-fixture.js';
import { renewHolds } from '../holds/renew.js';
import { listLosses } from './list-losses.js';

const ledger = await LedgerFixture.open();
const connection = await ledger.connect();
const lanes = ledger.newLanes({ times: { leaseMs: 60_000, reaperGraceMs: 0 } });
afterAll(() => ledger.close());
afterEach(async () => expect(await ledger.violations()).toEqual([]));

const PRICE: Price = {
  inputPicoUsd: 3n,
  cachedInputPicoUsd: 1n,
  outputPicoUsd: 7n,
  requestPicoUsd: 11n,
  steps: [{ above: 20, reprices: 'excess', inputPicoUsd: 5n, cachedInputPicoUsd: 2n }],
};
const exactCost = (usage: TokenUsage): bigint => priceUsage(usage, PRICE).cost;

async function hold(customer: Customer, model: string, amount: bigint): Promise<{ holdId: string; accountId: string }> {
  const reserve = { ...makeReserve(customer, amount), model, price: { version: 1, ...renderPriceText(PRICE) } };
  expect(await lanes.reserve(reserve)).toMatchObject({ status: 'held' });
  return reserve;
}

const settle = async (
  { holdId, accountId }: { holdId: string; accountId: string },
  reason: SettleReason,
  usage: TokenUsage,
  upstream: string,
) => expect(await lanes.settle({ holdId, accountId, reason, usage, upstream })).toMatchObject({ status: 'settled' });

/** Opens a hold that the reaper bills for `usage`. */
async function reaped(
  customer: Customer,
  model: string,
  amount: bigint,
  usage: TokenUsage,
): Promise<{ holdId: string; accountId: string }> {
  const { holdId, accountId } = await hold(customer, model, amount);
  await renewHolds(connection, [{ holdId, sequence: 1, usage }], 60_000);
  await ledger.sql.query(`UPDATE billing.hold SET lease_until = clock_timestamp() - interval '1 second' WHERE id = $1`, [holdId]);
  await lanes.settle({ holdId, accountId, reason: 'lease-expired' });
  return { holdId, accountId };
}

/** Puts the settlement of a hold, or its late one, at a time. */
async function moveTo(journal: 'settlement' | 'late_settlement', { holdId }: { holdId: string }, at: string): Promise<void> {
  await ledger.sql.query('SET session_replication_role = replica');
  await ledger.sql.query(`UPDATE billing.${journal} SET settled_at = $2 WHERE hold_id = $1`, [holdId, at]);
  await ledger.sql.query('SET session_replication_role = DEFAULT');
}

const sums = (requests: number, usage: bigint, charged: bigint, over: bigint, writtenOff: bigint) => ({
  ...{ requests, usagePicoUsd: String(usage), chargedPicoUsd: String(charged) },
  ...{ overPicoUsd: String(over), writtenOffPicoUsd: String(writtenOff) },
});

test('the losses of a time are what its requests cost beyond their charge, by day, model, upstream and reason', async () => {
  const customer = await ledger.customer({ topup: 1_000n });
  const [large, small, broken] = [makeUsage(50, 9, 30), makeUsage(25, 4), makeUsage(30, 2)];
  const first = await hold(customer, 'one', 100n);
  const second = await hold(customer, 'one', 60n);
  const paid = await hold(customer, 'one', 500n);
  const another = await hold(customer, 'two', 90n);
  const before = await hold(customer, 'one', 10n);
  await settle(first, 'completed', large, 'local');
  await settle(second, 'completed', small, 'local');
  await settle(paid, 'completed', large, 'local');
  await settle(another, 'client-disconnected', broken, 'hosted');
  await settle(before, 'completed', large, 'local');
  await moveTo('settlement', first, '2026-03-04T00:00:00Z');
  await moveTo('settlement', second, '2026-03-04T23:59:59Z');
  await moveTo('settlement', paid, '2026-03-04T12:00:00Z');
  await moveTo('settlement', another, '2026-03-05T00:00:00Z');
  await moveTo('settlement', before, '2026-03-03T23:59:59Z');
  const used = exactCost(large) + exactCost(small);
  const lost = exactCost(broken) - 90n;
  expect(await listLosses(ledger.prisma, { from: '2026-03-04', to: '2026-03-06' })).toEqual({
    from: '2026-03-04T00:00:00.000Z',
    to: '2026-03-06T00:00:00.000Z',
    rows: [
      { day: '2026-03-04', model: 'one', upstream: 'local', reason: 'completed', ...sums(2, used, 160n, used - 160n, 0n) },
      { day: '2026-03-05', model: 'two', upstream: 'hosted', reason: 'client-disconnected', ...sums(1, exactCost(broken), 90n, lost, 0n) },
    ],
    rowCount: 2,
    total: sums(3, used + exactCost(broken), 250n, used - 160n + lost, 0n),
  });
});

test('a late settlement takes back what the reaper lost, and adds what the request did', async () => {
  const customer = await ledger.customer({ topup: 1_000n });
  const [reading, whole] = [makeUsage(50, 9), makeUsage(50, 20)];
  const request = await reaped(customer, 'm', 100n, reading);
  await moveTo('settlement', request, '2026-04-01T10:00:00Z');
  await settle(request, 'completed', whole, 'local');
  await moveTo('late_settlement', request, '2026-04-02T10:00:00Z');
  const [read, over] = [exactCost(reading), exactCost(whole) - 100n];
  const reaper = { model: 'm', upstream: null, reason: 'lease-expired' };
  expect(await listLosses(ledger.prisma, { from: '2026-04-01', to: '2026-04-03' })).toEqual({
    from: '2026-04-01T00:00:00.000Z',
    to: '2026-04-03T00:00:00.000Z',
    rows: [
      { day: '2026-04-02', model: 'm', upstream: 'local', reason: 'completed', ...sums(1, exactCost(whole), 100n, over, 0n) },
      { day: '2026-04-01', ...reaper, ...sums(1, read, 100n, read - 100n, 0n) },
      { day: '2026-04-02', ...reaper, ...sums(-1, -read, -100n, 100n - read, 0n) },
    ],
    rowCount: 3,
    total: sums(1, exactCost(whole), 100n, over, 0n),
  });
});

test('what a late settlement could not charge is written off', async () => {
  const customer = await ledger.customer({ topup: 200n });
  const request = await reaped(customer, 'm', 190n, makeUsage(0));
  await settle(await hold(customer, 'm', 150n), 'completed', makeUsage(43), 'local');
  const whole = makeUsage(40, 20);
  await settle(request, 'failed', whole, 'local');
  await moveTo('late_settlement', request, '2026-05-01T10:00:00Z');
  const { rows } = await listLosses(ledger.prisma, { from: '2026-05-01', to: '2026-05-02' });
  const group = { day: '2026-05-01', model: 'm', upstream: 'local', reason: 'failed' };
  expect(rows).toEqual([{ ...group, ...sums(1, exactCost(whole), 50n, exactCost(whole) - 190n, 140n) }]);
});

test('a time without losses has no rows', async () => {
  const range = { from: '2020-01-01', to: '2020-01-02' };
  expect(await listLosses(ledger.prisma, range)).toMatchObject({ rows: [], rowCount: 0, total: sums(0, 0n, 0n, 0n, 0n) });
});

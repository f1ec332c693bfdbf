import type { PinnedPrice, TokenUsage } from '#contracts/billing/holds.js';
import type { PgConnection } from '#database/pg-connection.js';
import { type Customer, LedgerFixture, makeReserve, makeUsage, PRICE } from '../../test/ledger-fixture.js';
import { listRequests } from '../holds/list-requests.js';
import { renewHolds } from '../holds/renew.js';
import { showRequest } from '../holds/show-request.js';
import { checkLedger } from '../ledger/check-ledger.js';
import { queryUsage } from '../usage/query-usage.js';
import { applyBatch } from './apply-batch.js';
import type { HoldLanes } from './hold-lanes.js';

/** Tokens that an upstream wrote to its cache: from the reserve to the bill, the rollups and the ledger check. */
const TIMES = { leaseMs: 60_000, reaperGraceMs: 0 };
const BOTH: PinnedPrice = { ...PRICE, cacheWritePicoUsd: '3', cacheWrite1hPicoUsd: '5' };
const ONLY_5M: PinnedPrice = { ...PRICE, cacheWritePicoUsd: '3' };
/** 20 tokens of prompt, of which 2 are read, 4 are written for 5 minutes and 6 for an hour, and 1 of output. */
const USAGE: TokenUsage = { ...makeUsage(20, 1, 2), cacheWriteTokens: 4, cacheWrite1hTokens: 6 };
const COST = { both: 8 + 4 * 3 + 6 * 5 + 2, only5m: 8 + 4 * 3 + 6 * 3 + 2, none: 8 + 4 + 6 + 2 };

let lanes: HoldLanes;
let customer: Customer;
const ledger = await LedgerFixture.open();
beforeEach(async () => {
  customer = await ledger.customer({ topup: 10_000n });
  lanes = ledger.newLanes({ times: TIMES });
});
afterEach(async () => {
  await ledger.closeUsage();
  expect(await ledger.violations()).toEqual([]);
});
afterAll(() => ledger.close());

async function open(price: PinnedPrice, amount = 200n): Promise<string> {
  const reserve = { ...makeReserve(customer, amount), price };
  expect(await lanes.reserve(reserve)).toMatchObject({ status: 'held' });
  return reserve.holdId;
}

const settle = (holdId: string, usage: TokenUsage = USAGE, by = lanes) =>
  by.settle({ holdId, accountId: customer.accountId, reason: 'completed', usage, settledBy: 'gateway' });

async function renew(holdId: string, sequence: number, usage: TokenUsage): Promise<void> {
  await renewHolds(await ledger.connect(), [{ holdId, sequence, usage }], 60_000);
}

async function reap(holdId: string): Promise<void> {
  await ledger.sql.query(`UPDATE billing.hold SET lease_until = clock_timestamp() - interval '1 second' WHERE id = $1`, [holdId]);
  expect(await lanes.settle({ holdId, accountId: customer.accountId, reason: 'lease-expired' })).toMatchObject({ status: 'settled' });
}

async function shown(holdId: string) {
  const { price, settlement } = await showRequest(ledger.prisma, `req-${holdId}`);
  return { price, usage: settlement?.usage, cost: Number(settlement?.costPicoUsd) };
}

/** Counts of the customer's requests. */
async function counted() {
  const { rows } = await queryUsage(ledger.prisma, {
    accountId: customer.accountId,
    from: new Date(Date.now() - 7_200_000).toISOString(),
    to: new Date(Date.now() + 60_000).toISOString(),
  });
  const [row] = rows;
  return row && [row.requests, row.promptTokens, row.cachedTokens, row.cacheWriteTokens, row.cacheWrite1hTokens, Number(row.costPicoUsd)];
}

test.each([
  ['both prices', BOTH, COST.both],
  ['the price for 5 minutes alone, which an hour has too', ONLY_5M, COST.only5m],
  ['none: the input price', PRICE, COST.none],
])('tokens written to a cache cost the price of the reserve, in this process and after a restart: %s', async (_, price, cost) => {
  const [here, there] = [await open(price), await open(price)];
  await settle(here);
  await settle(there, USAGE, ledger.newLanes({ times: TIMES }));
  expect([await shown(here), await shown(there)]).toEqual([
    { price, usage: USAGE, cost },
    { price, usage: USAGE, cost },
  ]);
});

test('batches under the lock and from memory keep prices and counts, beside requests without them', async () => {
  const connection = await ledger.connect();
  const sent: string[] = [];
  const query = connection.query.bind(connection) as (...args: unknown[]) => unknown;
  connection.query = ((statement: string | { name: string }, ...rest: unknown[]) => {
    if (typeof statement !== 'string') sent.push(statement.name);
    return query(statement, ...rest);
  }) as typeof connection.query;
  const apply = (batch: Partial<Parameters<typeof applyBatch>[1]>) =>
    applyBatch(connection, { settles: [], reserves: [], ...batch }, TIMES, Date.now());
  const opened = [BOTH, PRICE].map((price) => ({ ...makeReserve(customer, 200n), price }));
  await apply({ reserves: opened });
  const settles = [USAGE, makeUsage(20)].map((usage, position) => ({
    holdId: opened[position]?.holdId ?? '',
    accountId: customer.accountId,
    reason: 'completed' as const,
    usage,
  }));
  await apply({ settles });
  expect(sent).toEqual(['lock_accounts', 'read_batch', 'write_batch_with_rare_columns', 'write_cached_batch_rare_settles']);
  expect(await Promise.all(opened.map(({ holdId }) => shown(holdId)))).toEqual([
    { price: BOTH, usage: USAGE, cost: COST.both },
    { price: PRICE, usage: makeUsage(20), cost: 20 },
  ]);
});

test('more tokens than the prompt has are brought within it: read ones first, then those for 5 minutes', async () => {
  const holdId = await open(BOTH);
  await settle(holdId, { ...makeUsage(10, 0, 4), cacheWriteTokens: 5, cacheWrite1hTokens: 9 });
  const usage = { ...makeUsage(10, 0, 4), cacheWriteTokens: 5, cacheWrite1hTokens: 1 };
  expect(await shown(holdId)).toEqual({ price: BOTH, usage, cost: 5 * 3 + 5 });
});

test('a cost beyond the hold is not charged', async () => {
  const holdId = await open(BOTH, 30n);
  await settle(holdId);
  expect(await showRequest(ledger.prisma, `req-${holdId}`)).toMatchObject({
    settlement: { costPicoUsd: '30', overPicoUsd: String(COST.both - 30) },
  });
});

test('the reaper bills the last reading, and a late settlement corrects it in bill, list and usage', async () => {
  const holdId = await open(BOTH);
  await renew(holdId, 1, { ...USAGE, cacheWrite1hTokens: 0 });
  await renew(holdId, 2, { ...makeUsage(20), cacheWriteTokens: 5 });
  await reap(holdId);
  expect(await shown(holdId)).toEqual({ price: BOTH, usage: { ...makeUsage(20), cacheWriteTokens: 5 }, cost: 15 + 15 });
  expect(await counted()).toEqual([1, 20, 0, 5, undefined, 30]);
  await settle(holdId);
  expect(await shown(holdId)).toEqual({ price: BOTH, usage: USAGE, cost: COST.both });
  const { requests } = await listRequests(ledger.prisma, { accountId: customer.accountId });
  expect(requests.map(({ usage }) => usage)).toEqual([USAGE]);
  expect(await counted()).toEqual([1, 20, 2, 4, 6, COST.both]);
  await ledger.closeUsage();
  expect(await counted()).toEqual([1, 20, 2, 4, 6, COST.both]);
});

test('a late settlement without a cache has none of the reading before it', async () => {
  const holdId = await open(BOTH);
  await renew(holdId, 1, USAGE);
  await reap(holdId);
  await settle(holdId, makeUsage(20));
  expect(await shown(holdId)).toEqual({ price: BOTH, usage: makeUsage(20), cost: 20 });
  const { requests } = await listRequests(ledger.prisma, { accountId: customer.accountId });
  expect(requests.map(({ usage }) => usage)).toEqual([makeUsage(20)]);
  expect(await counted()).toEqual([1, 20, 0, undefined, undefined, 20]);
});

test('counts of a reading that a replica of the version before has replaced in part are brought within its prompt', async () => {
  const holdId = await open(BOTH);
  await renew(holdId, 1, { ...makeUsage(20), cacheWriteTokens: 20 });
  await ledger.sql.query('UPDATE billing.hold SET meter_sequence = 2, meter_prompt_tokens = 8, meter_cached_tokens = 2 WHERE id = $1', [
    holdId,
  ]);
  await reap(holdId);
  expect(await shown(holdId)).toEqual({ price: BOTH, usage: { ...makeUsage(8, 0, 2), cacheWriteTokens: 6 }, cost: 18 });
});

/** Returns what a ledger check finds after a statement that a trigger would refuse, and undoes it. */
async function foundAfter(statement: string, id: string): Promise<unknown[]> {
  const query = (text: string, values?: unknown[]) =>
    /^(BEGIN|COMMIT|ROLLBACK)/.test(text) ? Promise.resolve() : ledger.sql.query(text, values);
  await ledger.sql.query('BEGIN');
  try {
    await ledger.sql.query('SET LOCAL session_replication_role = replica');
    await ledger.sql.query(statement, [id]);
    const { violations } = await checkLedger({ query } as unknown as PgConnection, 10 * 365 * 86_400_000);
    return violations.map(({ invariant }) => invariant);
  } finally {
    await ledger.sql.query('ROLLBACK');
  }
}

test.each([
  ['a count of a settlement', 'UPDATE billing.settlement SET cache_write_tokens = 5 WHERE hold_id = $1', ['I9', 'I12']],
  ['a price of a settlement', 'UPDATE billing.settlement SET cache_write_1h_price = 6 WHERE hold_id = $1', ['I9']],
])('a ledger check finds a change of %s', async (_, statement, invariants) => {
  const holdId = await open(BOTH);
  await settle(holdId);
  await ledger.closeUsage();
  expect(await foundAfter(statement, holdId)).toEqual(invariants);
});

test('a ledger check finds a rollup that lacks tokens written to a cache', async () => {
  await settle(await open(BOTH));
  await ledger.closeUsage();
  const statement = 'UPDATE billing.usage_hour SET cache_write_tokens = cache_write_tokens - 1 WHERE account_id = $1';
  expect(await foundAfter(statement, customer.accountId)).toEqual(['I12']);
});

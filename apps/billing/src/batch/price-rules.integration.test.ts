import type { PinnedPrice, TokenUsage } from '#contracts/billing/holds.js';
import type { PgConnection } from '#database/pg-connection.js';
import { type Customer, LedgerFixture, makeReserve, makeUsage, PRICE } from '../../test/ledger-fixture.js';
import { listRequests } from '../holds/list-requests.js';
import { renewHolds } from '../holds/renew.js';
import { showRequest } from '../holds/show-request.js';
import { checkLedger } from '../ledger/check-ledger.js';
import type { HoldLanes } from './hold-lanes.js';

/** Steps, tiers and image classes of a price: from the reserve to the bill and the ledger check. */
const TIMES = { leaseMs: 60_000, reaperGraceMs: 0 };
const STEPS: PinnedPrice = {
  ...PRICE,
  cacheWritePicoUsd: '2',
  steps: [
    { above: 10, reprices: 'excess', inputPicoUsd: '3', cachedInputPicoUsd: '2', cacheWrite1hPicoUsd: '7' },
    { above: 20, reprices: 'whole', inputPicoUsd: '5', cachedInputPicoUsd: '4', outputPicoUsd: '9' },
    { above: 30, reprices: 'excess', inputPicoUsd: '6', cachedInputPicoUsd: '5', cacheWritePicoUsd: '8' },
  ],
};
const TIERS: PinnedPrice = {
  ...PRICE,
  steps: [{ above: 5, reprices: 'whole', inputPicoUsd: '2', cachedInputPicoUsd: '2' }],
  tiers: [
    { tier: 'flex', inputPicoUsd: '1', cachedInputPicoUsd: '0', outputPicoUsd: '1' },
    {
      ...{ tier: 'priority', inputPicoUsd: '4', cachedInputPicoUsd: '1', outputPicoUsd: '8' },
      steps: [{ above: 15, reprices: 'whole', inputPicoUsd: '5', cachedInputPicoUsd: '1', outputPicoUsd: '9' }],
    },
  ],
};
const IMAGES: PinnedPrice = {
  ...PRICE,
  ...{ imagePicoUsd: '3', images: 2 },
  imageSteps: [
    { aboveBytes: 100, imagePicoUsd: '10', images: 1 },
    { aboveBytes: 200, imagePicoUsd: '20' },
  ],
};

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

async function open(price: PinnedPrice, amount = 900n): Promise<string> {
  const reserve = { ...makeReserve(customer, amount), price };
  expect(await lanes.reserve(reserve)).toMatchObject({ status: 'held' });
  return reserve.holdId;
}

const settle = (holdId: string, usage: TokenUsage, by = lanes) =>
  by.settle({ holdId, accountId: customer.accountId, reason: 'completed', usage, settledBy: 'gateway' });

async function reap(holdId: string): Promise<void> {
  await ledger.sql.query(`UPDATE billing.hold SET lease_until = clock_timestamp() - interval '1 second' WHERE id = $1`, [holdId]);
  expect(await lanes.settle({ holdId, accountId: customer.accountId, reason: 'lease-expired' })).toMatchObject({ status: 'settled' });
}

async function shown(holdId: string) {
  const { price, settlement } = await showRequest(ledger.prisma, `req-${holdId}`);
  return { price, usage: settlement?.usage, step: settlement?.step, cost: Number(settlement?.costPicoUsd) };
}

const USAGE = { ...makeUsage(40, 2, 3), cacheWriteTokens: 4, cacheWrite1hTokens: 28 };

test.each<[string, PinnedPrice, TokenUsage, number | undefined, number]>([
  ['below a step', STEPS, makeUsage(10, 2, 3), undefined, 7 + 2 * 2],
  ['one token above a step for the excess', STEPS, makeUsage(11, 2, 3), 10, 7 + 3 + 2 * 2],
  ['at the bound of a step for the whole request', STEPS, makeUsage(20, 2, 3), 10, 7 + 10 * 3 + 2 * 2],
  ['one token above it', STEPS, makeUsage(21, 2, 3), 20, 18 * 5 + 3 * 4 + 2 * 9],
  ['a step for the excess after it, with tokens of a cache', STEPS, USAGE, 30, 3 * 4 + 27 * 5 + 8 + 4 * 8 + 5 * 6 + 2 * 9],
  ['a tier', TIERS, { ...makeUsage(10, 2, 3), tier: 'flex' }, undefined, 7 + 2],
  ['a tier with steps of its own', TIERS, { ...makeUsage(16, 2), tier: 'priority' }, 15, 16 * 5 + 2 * 9],
  ['a tier without prices: the usual ones', TIERS, { ...makeUsage(6, 2), tier: 'scale' }, 5, 12 + 2 * 2],
  ['image classes', IMAGES, makeUsage(1), undefined, 1 + 2 * 3 + 10],
])('the price of the reserve decides, in this process and after a restart: %s [price-pinned]', async (_, price, usage, step, cost) => {
  const [here, there] = [await open(price), await open(price)];
  await settle(here, usage);
  await settle(there, usage, ledger.newLanes({ times: TIMES }));
  const expected = { price, usage, step, cost };
  expect([await shown(here), await shown(there)]).toEqual([expected, expected]);
});

test('the tier of a request is kept where its price has no tiers: its cost price may have some', async () => {
  const holdId = await open(PRICE);
  const usage = { ...makeUsage(3), tier: 'flex' };
  await settle(holdId, usage);
  expect(await shown(holdId)).toEqual({ price: PRICE, usage, step: undefined, cost: 3 });
});

test('a cost beyond the hold is not charged, and the step that applied is kept', async () => {
  const holdId = await open(STEPS, 30n);
  await settle(holdId, makeUsage(21));
  expect(await showRequest(ledger.prisma, `req-${holdId}`)).toMatchObject({
    settlement: { costPicoUsd: '30', overPicoUsd: String(21 * 5 - 30), step: 20 },
  });
});

test('the reaper bills the last reading with its tier, and a late settlement corrects it', async () => {
  const holdId = await open(TIERS);
  const read = { ...makeUsage(16), tier: 'priority' };
  await renewHolds(await ledger.connect(), [{ holdId, sequence: 1, usage: read }], 60_000);
  await reap(holdId);
  expect(await shown(holdId)).toEqual({ price: TIERS, usage: read, step: 15, cost: 80 });
  const late = { ...makeUsage(10), tier: 'flex' };
  await settle(holdId, late);
  expect(await showRequest(ledger.prisma, `req-${holdId}`)).toMatchObject({
    settlement: { usage: late, costPicoUsd: '10', reaped: { usage: read, step: 15, costPicoUsd: '80' } },
  });
  expect((await shown(holdId)).step).toBeUndefined();
  const { requests } = await listRequests(ledger.prisma, { accountId: customer.accountId });
  expect(requests.map(({ usage }) => usage)).toEqual([late]);
});

test.each([
  ['a tier', `tier = 'priority'`],
  ['a rule', `price_rules = jsonb_set(price_rules, '{tiers,0,outputPicoUsd}', '"2"')`],
  ['all rules', 'price_rules = NULL'],
])('a ledger check finds a change of %s', async (_, change) => {
  const holdId = await open(TIERS);
  await settle(holdId, { ...makeUsage(10, 2), tier: 'flex' });
  await ledger.closeUsage();
  const query = (text: string, values?: unknown[]) =>
    /^(BEGIN|COMMIT|ROLLBACK)/.test(text) ? Promise.resolve() : ledger.sql.query(text, values);
  await ledger.sql.query('BEGIN');
  try {
    await ledger.sql.query('SET LOCAL session_replication_role = replica');
    await ledger.sql.query(`UPDATE billing.settlement SET ${change} WHERE hold_id = $1`, [holdId]);
    const { violations } = await checkLedger({ query } as unknown as PgConnection, 10 * 365 * 86_400_000);
    expect(violations.map(({ invariant }) => invariant)).toEqual(['I9']);
  } finally {
    await ledger.sql.query('ROLLBACK');
  }
});

import { randomUUID } from 'node:crypto';
import type { TokenUsage } from '#contracts/billing/holds.js';
import { OUTPUT_SOURCES, PROMPT_SOURCES } from '#inference/usage.js';
import { picoUsd } from '#money/pico-usd.js';
import { type Customer, LedgerFixture, makeReserve, makeUsage } from '../../test/ledger-fixture.js';
import type { HoldLanes } from '../batch/hold-lanes.js';
import { grantPlan } from '../ledger/grant-plan.js';
import { queryUsage } from '../usage/query-usage.js';
import { renewHolds } from './renew.js';
import { showRequest } from './show-request.js';

const NOTHING = { ...makeUsage(0), promptSource: 'estimated', outputSource: 'counted' };
const AT = expect.stringMatching(/^\d{4}-.*Z$/);
const IN_TIME = { overPicoUsd: '0', writtenOffPicoUsd: '0', settledAt: AT, reaped: null };

const paidByTopup = (cost: string) => ({ costPicoUsd: cost, paid: { planPicoUsd: '0', topupPicoUsd: cost, endedPlanPicoUsd: '0' } });

let lanes: HoldLanes;
let customer: Customer;
const ledger = await LedgerFixture.open();
beforeEach(async () => {
  customer = await ledger.customer({ topup: 1_000n });
  lanes = ledger.newLanes({ times: { leaseMs: 60_000, reaperGraceMs: 0 } });
});
afterEach(async () => expect(await ledger.violations()).toEqual([]));
afterAll(() => ledger.close());

async function hold(amount = 100n): Promise<string> {
  const reserve = makeReserve(customer, amount);
  expect(await lanes.reserve(reserve)).toMatchObject({ status: 'held' });
  return reserve.holdId;
}

async function renew(holdId: string, usage: TokenUsage): Promise<void> {
  const connection = await ledger.connect();
  await renewHolds(connection, [{ holdId, sequence: 1, usage }], 60_000);
}

async function reap(holdId: string): Promise<void> {
  await ledger.sql.query(`UPDATE billing.hold SET lease_until = clock_timestamp() - interval '1 second' WHERE id = $1`, [holdId]);
  expect(await lanes.settle({ holdId, accountId: customer.accountId, reason: 'lease-expired' })).toMatchObject({ status: 'settled' });
}

async function readSettlement(holdId: string): Promise<unknown> {
  return (await showRequest(ledger.prisma, `req-${holdId}`)).settlement;
}

async function estimatedRequests(): Promise<number | undefined> {
  const { rows } = await queryUsage(ledger.prisma, {
    accountId: customer.accountId,
    from: new Date(Date.now() - 60_000).toISOString(),
    to: new Date(Date.now() + 60_000).toISOString(),
  });
  return rows[0]?.estimatedRequests;
}

const SOURCES = PROMPT_SOURCES.flatMap((promptSource) => OUTPUT_SOURCES.map((outputSource) => ({ promptSource, outputSource })));

test.each(SOURCES)('a prompt that is $promptSource and an output that is $outputSource are shown as such', async (sources) => {
  const holdId = await hold();
  const usage = { ...makeUsage(10, 5, 2), ...sources };
  await lanes.settle({ holdId, accountId: customer.accountId, reason: 'failed', usage, settledBy: 'gateway' });
  expect(await readSettlement(holdId)).toEqual({ ...IN_TIME, reason: 'failed', settledBy: 'gateway', usage, ...paidByTopup('18') });
  expect(await estimatedRequests()).toBe(sources.promptSource === 'reported' && sources.outputSource === 'reported' ? 0 : 1);
});

test('without a trace of the client, the trace id of a request is its own id', async () => {
  const trace = '0193f5a2b6c47d3e8f00a1b2c3d4e5f6';
  await lanes.reserve({ ...makeReserve(customer, 100n), requestId: `req_${trace}` });
  expect((await showRequest(ledger.prisma, `req_${trace}`)).traceId).toBe(trace);
});

test.each([
  ['a running request', undefined],
  ['one that a service settled', (holdId: string) => lanes.settle({ holdId, accountId: customer.accountId, reason: 'completed' })],
  ['one that the reaper settled', reap],
])('the trace id and the attribution of the reserve stay with %s', async (_, end) => {
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  const attribution = { user: 'jürgen "x"', client: 'curl', 'tag:team': '{a,b}\\' };
  const reserve = { ...makeReserve(customer, 100n), traceparent: `00-${traceId}-b7ad6b7169203331-00`, attribution };
  await lanes.reserve(reserve);
  await end?.(reserve.holdId);
  const [other, shown] = [await showRequest(ledger.prisma, `req-${await hold()}`), await showRequest(ledger.prisma, reserve.requestId)];
  expect([other, shown]).toMatchObject([
    { traceId: null, attribution: {} },
    { traceId, attribution },
  ]);
});

test('a request without a usage shows none, and the service that settled it', async () => {
  const holdId = await hold();
  await lanes.settle({ holdId, accountId: customer.accountId, reason: 'client-disconnected', settledBy: 'inference-proxy' });
  expect(await readSettlement(holdId)).toEqual({
    ...IN_TIME,
    reason: 'client-disconnected',
    settledBy: 'inference-proxy',
    usage: NOTHING,
    ...paidByTopup('0'),
  });
  expect(await estimatedRequests()).toBe(0);
});

test('a usage beyond the hold shows what is not charged', async () => {
  const holdId = await hold(20n);
  const usage = makeUsage(10, 8);
  await lanes.settle({ holdId, accountId: customer.accountId, reason: 'completed', usage, settledBy: 'gateway' });
  expect(await readSettlement(holdId)).toEqual({
    ...IN_TIME,
    reason: 'completed',
    settledBy: 'gateway',
    usage,
    ...paidByTopup('20'),
    overPicoUsd: '6',
  });
});

test('a reaped request shows the sources of its last meter reading', async () => {
  const holdId = await hold();
  const usage = { ...makeUsage(10, 3), outputSource: 'counted' as const };
  await renew(holdId, usage);
  await reap(holdId);
  expect(await readSettlement(holdId)).toEqual({ ...IN_TIME, reason: 'lease-expired', settledBy: 'reaper', usage, ...paidByTopup('16') });
});

test('a request that was reaped before its first meter reading shows no usage, and is no estimate', async () => {
  const holdId = await hold();
  await reap(holdId);
  expect(await readSettlement(holdId)).toEqual({
    ...IN_TIME,
    reason: 'lease-expired',
    settledBy: 'reaper',
    usage: NOTHING,
    ...paidByTopup('0'),
  });
  expect(await estimatedRequests()).toBe(0);
});

test('a late settlement shows its own sources and service, and the bill of the reaper that it replaced', async () => {
  const holdId = await hold();
  const read = { ...makeUsage(10, 3), promptSource: 'estimated' as const, outputSource: 'counted' as const };
  await renew(holdId, read);
  await reap(holdId);
  const usage = makeUsage(12, 30);
  await lanes.settle({ holdId, accountId: customer.accountId, reason: 'completed', usage, settledBy: 'gateway' });
  expect(await readSettlement(holdId)).toEqual({
    ...IN_TIME,
    reason: 'completed',
    settledBy: 'gateway',
    usage,
    ...paidByTopup('72'),
    reaped: { usage: read, ...paidByTopup('16'), settledAt: AT },
  });
});

test('a late settlement that the account has no money for shows what was written off', async () => {
  const holdId = await hold(1_000n);
  await reap(holdId);
  const other = await hold(950n);
  await lanes.settle({ holdId: other, accountId: customer.accountId, reason: 'completed', usage: makeUsage(950) });
  const usage = makeUsage(70);
  await lanes.settle({ holdId, accountId: customer.accountId, reason: 'completed', usage, settledBy: 'inference-proxy' });
  expect(await readSettlement(holdId)).toEqual({
    ...IN_TIME,
    reason: 'completed',
    settledBy: 'inference-proxy',
    usage,
    ...paidByTopup('50'),
    writtenOffPicoUsd: '20',
    reaped: { usage: NOTHING, ...paidByTopup('0'), settledAt: AT },
  });
});

describe('the money that paid', () => {
  const grant = (amount: bigint) =>
    grantPlan(ledger.sql, {
      grantId: randomUUID(),
      accountId: customer.accountId,
      amount: picoUsd(amount),
      endsAt: new Date(Date.now() + 3_600_000),
    });
  const paidFor = async (holdId: string) => (await showRequest(ledger.prisma, `req-${holdId}`)).settlement;

  test('the plan, then top-ups', async () => {
    await grant(30n);
    const holdId = await hold(100n);
    await lanes.settle({ holdId, accountId: customer.accountId, reason: 'completed', usage: makeUsage(70) });
    expect(await paidFor(holdId)).toMatchObject({ paid: { planPicoUsd: '30', topupPicoUsd: '40', endedPlanPicoUsd: '0' } });
  });

  test('a plan that ended meanwhile, then the plan that replaced it, then top-ups', async () => {
    await grant(30n);
    const holdId = await hold(100n);
    await grant(20n);
    await lanes.settle({ holdId, accountId: customer.accountId, reason: 'completed', usage: makeUsage(70) });
    expect(await paidFor(holdId)).toMatchObject({ paid: { planPicoUsd: '20', topupPicoUsd: '20', endedPlanPicoUsd: '30' } });
  });

  test('a late settlement beside the first: what it gave back, and what was forfeited, paid nothing', async () => {
    await grant(30n);
    const holdId = await hold(100n);
    await grant(20n);
    await renew(holdId, makeUsage(70));
    await reap(holdId);
    await grant(1n);
    await lanes.settle({ holdId, accountId: customer.accountId, reason: 'completed', usage: makeUsage(25) });
    expect(await paidFor(holdId)).toMatchObject({
      costPicoUsd: '25',
      paid: { planPicoUsd: '20', topupPicoUsd: '0', endedPlanPicoUsd: '5' },
      reaped: { costPicoUsd: '70', paid: { planPicoUsd: '20', topupPicoUsd: '20', endedPlanPicoUsd: '30' } },
    });
  });
});

describe('the price plan of a hold', () => {
  const inPlan = (amount = 100n) => {
    const reserve = makeReserve(customer, amount);
    return { ...reserve, price: { ...reserve.price, pricePlan: 'gold' } };
  };
  const readPrice = async (holdId: string) => (await showRequest(ledger.prisma, `req-${holdId}`)).price;

  test('is kept with its price, whatever becomes of the account, by another process and after a restart', async () => {
    const reserve = inPlan();
    expect(await lanes.reserve(reserve)).toMatchObject({ status: 'held' });
    expect(await readPrice(reserve.holdId)).toEqual(reserve.price);
    await ledger.sql.query(`UPDATE billing.account SET price_plan = 'other' WHERE id = $1`, [customer.accountId]);

    const restarted = ledger.newLanes({ times: { leaseMs: 60_000, reaperGraceMs: 0 } });
    const { holdId } = reserve;
    await restarted.settle({ holdId, accountId: customer.accountId, reason: 'completed', usage: makeUsage(12, 30), settledBy: 'gateway' });
    expect(await readPrice(holdId)).toEqual(reserve.price);
    expect(await readSettlement(holdId)).toMatchObject(paidByTopup('72'));
  });
});

describe('the price of a request and of its images', () => {
  const price = {
    version: 1,
    inputPicoUsd: '2',
    cachedInputPicoUsd: '1',
    outputPicoUsd: '3',
    requestPicoUsd: '40',
    imagePicoUsd: '5',
    images: 2,
  };
  const opened = async (amount = 200n): Promise<string> => {
    const reserve = { ...makeReserve(customer, amount), price };
    expect(await lanes.reserve(reserve)).toMatchObject({ status: 'held' });
    return reserve.holdId;
  };
  const settled = async (holdId: string, usage?: TokenUsage): Promise<string | undefined> => {
    const { accountId } = customer;
    await lanes.settle({ holdId, accountId, reason: usage ? 'completed' : 'failed', usage, settledBy: 'gateway' });
    const request = await showRequest(ledger.prisma, `req-${holdId}`);
    expect(request.price).toEqual(price);
    return request.settlement?.costPicoUsd;
  };

  test('is pinned, charged with the tokens, and known to another process', async () => {
    const fromMemory = await opened();
    expect(await settled(fromMemory, makeUsage(12, 0))).toBe(String(12 * 2 + 40 + 2 * 5));
    const holdId = await opened();
    const restarted = ledger.newLanes({ times: { leaseMs: 60_000, reaperGraceMs: 0 } });
    await restarted.settle({ holdId, accountId: customer.accountId, reason: 'completed', usage: makeUsage(12, 0), settledBy: 'gateway' });
    expect((await showRequest(ledger.prisma, `req-${holdId}`)).settlement?.costPicoUsd).toBe(String(12 * 2 + 40 + 2 * 5));
  });
});

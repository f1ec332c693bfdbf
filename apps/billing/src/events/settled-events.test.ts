import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Endpoint, Topic } from '#contracts/endpoint.js';
import { createLogger } from '#observability/logger.js';
import { PRICE } from '../../test/ledger-fixture.js';
import type { AccountState, Batch, BatchState, Committed } from '../holds/batch.js';
import { foldBatch } from '../holds/fold-batch.js';
import { BillingEvents, type Threshold } from './billing-events.js';

const ACCOUNT = '0190a6f0-7c1e-7000-8000-000000000001';
const PROJECT = '0190a6f0-7c1e-7000-8000-000000000002';
const KEY = '0190a6f0-7c1e-7000-8000-000000000003';
const HOLD = '0190a6f0-7c1e-7000-8000-000000000004';
const GRANT = '0190a6f0-7c1e-7000-8000-000000000005';
const NOW = 1_800_000_000_000;

type Funds = AccountState['funds'];

/** A committed batch of an account with an open hold of 60. */
function commit(batch: Partial<Batch>, funds: Partial<Funds> = {}, lowBalance?: bigint): Committed {
  const whole: Funds = { topup: 100n, topupHeld: 60n, plan: 0n, planHeld: 0n, expired: 0n, grant: null, ...funds };
  const price = { inputPicoUsd: 1n, cachedInputPicoUsd: 0n, outputPicoUsd: 2n };
  const meter = {
    promptTokens: 0,
    cachedTokens: 0,
    outputTokens: 0,
    reasoningTokens: 0,
    promptSource: 'estimated',
    outputSource: 'counted',
  } as const;
  const hold = {
    holdId: HOLD,
    accountId: ACCOUNT,
    projectId: PROJECT,
    keyId: KEY,
    createdAt: NOW,
    amount: 60n,
    planPart: 0n,
    grantId: null,
    price,
    meter,
    leaseUntil: NOW,
  };
  const limits = { requestsPerMinuteMax: 100, concurrencyMax: 100, openHolds: 1, requestWindow: [] };
  const state: BatchState = {
    now: NOW,
    accounts: new Map([[ACCOUNT, { accountId: ACCOUNT, active: true, openHolds: 1, funds: whole, ...(lowBalance && { lowBalance }) }]]),
    projects: new Map([[PROJECT, { projectId: PROJECT, accountId: ACCOUNT, enabled: true, ...limits }]]),
    keys: new Map([[KEY, { projectId: PROJECT, expiresAt: Number.POSITIVE_INFINITY }]]),
    budgets: new Map(),
    limits: new Map(),
    holds: new Map([[HOLD, hold]]),
    settlements: new Map(),
    reaped: new Map(),
  };
  const settles = batch.settles ?? [];
  const reserves = batch.reserves ?? [];
  return { ...foldBatch(state, { ...batch, settles, reserves }, { leaseMs: 1_000, reaperGraceMs: 0 }), state, reserves };
}

const usage = (promptTokens: number) => ({
  promptTokens,
  cachedTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  promptSource: 'reported' as const,
  outputSource: 'reported' as const,
});
const settle = (promptTokens: number) => ({ holdId: HOLD, accountId: ACCOUNT, reason: 'completed' as const, usage: usage(promptTokens) });
const reserve = (amountPicoUsd: string) => ({
  holdId: '0190a6f0-7c1e-7000-8000-000000000006',
  keyId: KEY,
  projectId: PROJECT,
  accountId: ACCOUNT,
  requestId: 'r',
  model: 'm',
  amountPicoUsd,
  price: PRICE,
});

function newEvents(options: { holdSettled?: boolean; threshold?: () => Threshold; now?: () => number; broken?: boolean } = {}) {
  const published: [string, unknown][] = [];
  const events = new BillingEvents({
    messaging: {
      publish: (topic: Topic<object> | Endpoint<object, unknown>, event: unknown) => {
        if (options.broken) throw new Error('no connection');
        published.push([topic.subject.replace('billing.v1.event.', ''), event]);
      },
    },
    holdSettled: options.holdSettled ?? false,
    readThreshold: async () => options.threshold?.(),
    now: options.now,
    logger: createLogger('test', 'silent'),
  });
  const after = async (...batches: Committed[]) => {
    for (const batch of batches) events.applied(batch);
    expect(published).toEqual([]); // events follow the replies
    await nextTurn();
    return published.splice(0);
  };
  return { events, published, after };
}

test('hold-settled is published only when it is on, one message per batch', async () => {
  const batch = commit({ settles: [settle(7)] });
  expect(await newEvents().after(batch)).toEqual([]);
  expect(await newEvents({ holdSettled: true }).after(batch)).toEqual([
    [
      'hold-settled',
      { settled: [{ holdId: HOLD, accountId: ACCOUNT, projectId: PROJECT, reason: 'completed', costPicoUsd: '7', usage: usage(7) }] },
    ],
  ]);
});

test.each<[what: string, batch: Committed, isPublished: boolean]>([
  ['from above to below', commit({ settles: [settle(21)] }, {}, 80n), true],
  ['from the threshold itself', commit({ settles: [settle(1)] }, {}, 100n), true],
  ['down to the threshold', commit({ settles: [settle(20)] }, {}, 80n), false],
  ['from below it', commit({ settles: [settle(20)] }, {}, 101n), false],
  ['without a threshold', commit({ settles: [settle(60)] }), false],
  ['money that is only held', commit({ reserves: [reserve('40')] }, {}, 80n), false],
  ['by the end of a plan', commit({ sweeps: [ACCOUNT] }, { plan: 50n, grant: { id: GRANT, endsAt: NOW } }, 120n), true],
])('balance-low, once, when the balance crosses the threshold: %s', async (_, batch, isPublished) => {
  const events = (await newEvents().after(batch)).filter(([subject]) => subject === 'balance-low');
  const { lowBalance } = batch.state.accounts.get(ACCOUNT) as AccountState;
  const { funds } = (batch.rows.accounts[0] ?? batch.state.accounts.get(ACCOUNT)) as AccountState;
  const event = { accountId: ACCOUNT, balancePicoUsd: String(funds.topup + funds.plan), lowBalancePicoUsd: String(lowBalance) };
  expect(events).toEqual(isPublished ? [['balance-low', event]] : []);
});

test('plan-expired has the forfeited amount', async () => {
  const batch = commit({ sweeps: [ACCOUNT] }, { plan: 50n, planHeld: 20n, grant: { id: GRANT, endsAt: NOW } });
  expect(await newEvents().after(batch)).toEqual([['plan-expired', { accountId: ACCOUNT, grantId: GRANT, forfeitedPicoUsd: '30' }]]);
});

test('balance-exhausted when the whole balance, held money included, cannot cover a request; once a minute', async () => {
  let now = NOW;
  const { after } = newEvents({ now: () => now });
  expect(await after(commit({ reserves: [reserve('41')] }), commit({ reserves: [reserve('100')] }))).toEqual([]);
  const exhausted = ['balance-exhausted', { accountId: ACCOUNT, balancePicoUsd: '100', requiredPicoUsd: '101' }];
  expect(await after(commit({ reserves: [reserve('101')] }), commit({ reserves: [reserve('102')] }))).toEqual([exhausted]);
  now += 59_999;
  expect(await after(commit({ reserves: [reserve('101')] }))).toEqual([]);
  now += 1;
  expect(await after(commit({ reserves: [reserve('101')] }))).toEqual([exhausted]);
});

test('balance-low after a refund or a debit, and at once when a threshold above the balance is set', async () => {
  let threshold: Threshold = { balance: 70n, lowBalance: 80n };
  const { events, published } = newEvents({ threshold: () => threshold });
  const low = ['balance-low', { accountId: ACCOUNT, balancePicoUsd: '70', lowBalancePicoUsd: '80' }];
  events.balanceFell(ACCOUNT, 9n);
  await nextTurn();
  expect(published.splice(0)).toEqual([]);
  events.balanceFell(ACCOUNT, 10n);
  events.thresholdChanged(ACCOUNT);
  await nextTurn();
  expect(published.splice(0)).toEqual([low, low]);
  threshold = { balance: 80n, lowBalance: 80n };
  events.thresholdChanged(ACCOUNT);
  await nextTurn();
  expect(published).toEqual([]);
});

test('a failure to publish does not affect money', async () => {
  const threshold = (): Threshold => ({ balance: 1n, lowBalance: 2n });
  const { events, after } = newEvents({ broken: true, holdSettled: true, threshold });
  expect(await after(commit({ settles: [settle(60)] }, {}, 80n))).toEqual([]);
  events.balanceFell(ACCOUNT, 1n);
  events.planEnded({ accountId: ACCOUNT, grantId: GRANT, amount: 1n });
  await nextTurn();
  const failing = new BillingEvents({
    messaging: { publish: () => undefined },
    holdSettled: false,
    readThreshold: () => Promise.reject(new Error('no database')),
    logger: createLogger('test', 'silent'),
  });
  failing.balanceFell(ACCOUNT, 1n);
  await nextTurn();
});

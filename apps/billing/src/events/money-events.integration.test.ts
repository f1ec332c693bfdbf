import { randomUUID } from 'node:crypto';
import { accountCreate, accountUpdate } from '#contracts/billing/accounts.js';
import { budgetSet } from '#contracts/billing/budgets.js';
import {
  accountFrozen,
  balanceExhausted,
  balanceLow,
  budgetExhausted,
  budgetThreshold,
  holdSettled,
  keyRevoked,
  planExpired,
} from '#contracts/billing/events.js';
import { holdReserve, holdSettle } from '#contracts/billing/holds.js';
import { keyCreate, keyRevoke } from '#contracts/billing/keys.js';
import { adjustmentCreate, planGrant, refundCreate, topupCreate } from '#contracts/billing/money.js';
import { projectCreate } from '#contracts/billing/projects.js';
import type { Topic } from '#contracts/endpoint.js';
import { startBillingService } from '../../test/billing-service.js';
import { type Customer, makeReserve, makeUsage } from '../../test/ledger-fixture.js';

const PICO = 1_000_000_000_000n;

const service = await startBillingService({ holdSettledEvents: true, reaperIntervalMs: 50, planSweepIntervalMs: 100, eventIntervalMs: 50 });
const [administrator, gateway, internal] = await Promise.all([
  service.connect('cli'),
  service.connect('gateway'),
  service.connect('internal'),
]);
afterAll(() => service.stop());

async function customer(usd: string, lowBalanceUsd?: string): Promise<Customer> {
  const { accountId } = await administrator.request(accountCreate, { name: 'Acme' });
  const { projectId } = await administrator.request(projectCreate, { accountId, name: 'main' });
  const { keyId } = await administrator.request(keyCreate, { projectId });
  await administrator.request(topupCreate, { accountId, usd, paymentId: randomUUID() });
  if (lowBalanceUsd) await administrator.request(accountUpdate, { accountId, lowBalanceUsd });
  return { accountId, projectId, keyId };
}

/** Collects events of a topic about `accountId` that the user `internal` receives. */
function hear<Event extends object>(topic: Topic<Event>, about: string): { next: () => Promise<Event> } {
  const heard: Event[] = [];
  let wake: (() => void) | undefined;
  internal.subscribe(topic, (event) => {
    if (!JSON.stringify(event).includes(about)) return;
    heard.push(event);
    wake?.();
  });
  return {
    next: async () => {
      while (heard.length === 0) await new Promise<void>((resolve) => (wake = resolve));
      return heard.shift() as Event;
    },
  };
}

/** The fields of every money event. */
const makeEvent = (kind: string, accountId: string, sequence: number): object => ({
  ...{ eventId: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/), kind, accountId, sequence },
  ...{ createdAt: expect.stringMatching(/Z$/), accountName: 'Acme' },
});

async function spend(acme: Customer, tokens: number): Promise<void> {
  const reserve = makeReserve(acme, BigInt(tokens));
  await gateway.request(holdReserve, reserve);
  await gateway.request(holdSettle, { holdId: reserve.holdId, accountId: acme.accountId, reason: 'completed', usage: makeUsage(tokens) });
}

test('a settlement, and balance-low when it crosses the threshold', async () => {
  const acme = await customer('1', '0.50');
  const { accountId, projectId } = acme;
  const [settled, low] = [hear(holdSettled, accountId), hear(balanceLow, accountId)];
  const reserve = makeReserve(acme, PICO);
  await gateway.request(holdReserve, reserve);
  const usage = makeUsage(600_000_000);
  const price = { ...reserve.price, inputPicoUsd: '1000' };
  const costly = { ...makeReserve(acme, 0n), price };
  await gateway.request(holdSettle, { holdId: reserve.holdId, accountId, reason: 'completed', usage: makeUsage(1) });
  expect(await settled.next()).toEqual({
    settled: [{ holdId: reserve.holdId, accountId, projectId, reason: 'completed', costPicoUsd: '1', usage: makeUsage(1) }],
  });
  await gateway.request(holdReserve, { ...costly, amountPicoUsd: String(PICO - 1n) });
  await gateway.request(holdSettle, { holdId: costly.holdId, accountId, reason: 'completed', usage });
  const amounts = { balancePicoUsd: '399999999999', lowBalancePicoUsd: '500000000000' };
  expect(await low.next()).toEqual({ ...makeEvent('balance-low', accountId, 1), ...amounts });
});

test('balance-low after a refund and a debit, and when a threshold above the balance is set; not while the balance stays low', async () => {
  const { accountId } = await customer('10', '5');
  const low = hear(balanceLow, accountId);
  const lowAt = (sequence: number, balance: bigint, threshold: bigint): object => ({
    ...makeEvent('balance-low', accountId, sequence),
    ...{ balancePicoUsd: String(balance), lowBalancePicoUsd: String(threshold) },
  });
  await administrator.request(refundCreate, { accountId, refundId: randomUUID(), usd: '5.5' });
  expect(await low.next()).toEqual(lowAt(1, (9n * PICO) / 2n, 5n * PICO));
  await administrator.request(refundCreate, { accountId, refundId: randomUUID(), usd: '0.1' });
  await administrator.request(accountUpdate, { accountId, lowBalanceUsd: '4' });
  await administrator.request(adjustmentCreate, { accountId, adjustmentId: randomUUID(), usd: '-0.9', reason: 'a test' });
  expect(await low.next()).toEqual(lowAt(2, (7n * PICO) / 2n, 4n * PICO));
  await administrator.request(accountUpdate, { accountId, lowBalanceUsd: '100' });
  expect(await low.next()).toEqual(lowAt(3, (7n * PICO) / 2n, 100n * PICO));
});

test('balance-exhausted when the balance cannot cover a request, once for many refusals', async () => {
  const acme = await customer('1');
  const { accountId } = acme;
  const [exhausted, frozen] = [hear(balanceExhausted, accountId), hear(accountFrozen, accountId)];
  await Promise.all(Array.from({ length: 20 }, () => gateway.request(holdReserve, makeReserve(acme, 2n * PICO))));
  const amounts = { balancePicoUsd: String(PICO), requiredPicoUsd: String(2n * PICO) };
  expect(await exhausted.next()).toEqual({ ...makeEvent('balance-exhausted', accountId, 1), ...amounts });
  await administrator.request(accountUpdate, { accountId, status: 'frozen', statusReason: 'a test' });
  expect(await frozen.next()).toEqual({ ...makeEvent('account-frozen', accountId, 2), reason: 'a test' });
});

test('plan-expired when a plan expires or is replaced', async () => {
  const { accountId } = await customer('1');
  const expired = hear(planExpired, accountId);
  const first = await administrator.request(planGrant, { accountId, usd: '2', expiresAt: '2099-01-01' });
  const second = await administrator.request(planGrant, { accountId, usd: '3', expiresAt: new Date(Date.now() + 1_500).toISOString() });
  const ended = (sequence: number, grantId: string, forfeited: bigint): object => ({
    ...makeEvent('plan-expired', accountId, sequence),
    ...{ grantId, forfeitedPicoUsd: String(forfeited) },
  });
  expect(await expired.next()).toEqual(ended(1, first.grantId, 2n * PICO));
  expect(await expired.next()).toEqual(ended(2, second.grantId, 3n * PICO));
});

test('a budget: each threshold once, what exceeds it, and thresholds that a lower limit passes', async () => {
  const acme = await customer('10');
  const { accountId, projectId } = acme;
  const [passed, exhausted] = [hear(budgetThreshold, accountId), hear(budgetExhausted, accountId)];
  const set = (limit: bigint, thresholds?: number[]) =>
    administrator.request(budgetSet, { accountId, projectId, period: 'total', limitPicoUsd: String(limit), thresholds });
  const { budgetId, thresholds } = await set(2_000n, [90, 25, 90]);
  expect(thresholds).toEqual([25, 90]);
  const budget = (limit: bigint, spent: bigint): object => ({
    ...{ budgetId, projectId, keyId: null, period: 'total', windowStart: null, resetsAt: null },
    ...{ projectName: 'main', budgetName: 'total budget of project main' },
    ...{ limitPicoUsd: String(limit), spentPicoUsd: String(spent) },
  });
  await spend(acme, 499);
  await spend(acme, 1);
  await spend(acme, 1);
  expect(await passed.next()).toEqual({ ...makeEvent('budget-threshold', accountId, 1), percent: 25, ...budget(2_000n, 500n) });
  await gateway.request(holdReserve, makeReserve(acme, 2_000n));
  const required = { requiredPicoUsd: '2000' };
  expect(await exhausted.next()).toEqual({ ...makeEvent('budget-exhausted', accountId, 2), ...budget(2_000n, 501n), ...required });
  await set(500n);
  expect(await passed.next()).toEqual({ ...makeEvent('budget-threshold', accountId, 3), percent: 90, ...budget(500n, 501n) });
  await set(10_000n);
  await set(2_000n);
  expect(await passed.next()).toEqual({ ...makeEvent('budget-threshold', accountId, 4), percent: 25, ...budget(2_000n, 501n) });
});

test('a revoked key', async () => {
  const { keyId, projectId } = await customer('1');
  const revoked = hear(keyRevoked, keyId);
  const { revokedAt } = await administrator.request(keyRevoke, { keyId });
  expect(await revoked.next()).toEqual({ keyId, projectId, revokedAt });
});

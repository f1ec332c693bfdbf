import { randomUUID } from 'node:crypto';
import { accountCreate, accountUpdate } from '#contracts/billing/accounts.js';
import { balanceExhausted, balanceLow, holdSettled, keyRevoked, planExpired } from '#contracts/billing/events.js';
import { holdReserve, holdSettle } from '#contracts/billing/holds.js';
import { keyCreate, keyRevoke } from '#contracts/billing/keys.js';
import { adjustmentCreate, planGrant, refundCreate, topupCreate } from '#contracts/billing/money.js';
import { projectCreate } from '#contracts/billing/projects.js';
import type { Topic } from '#contracts/endpoint.js';
import type { Messaging } from '#messaging/messaging.js';
import { type BillingService, startBillingService } from '../../test/billing-service.js';
import { type Customer, reserveOf, usageOf } from '../../test/ledger-fixture.js';

const PICO = 1_000_000_000_000n;

let service: BillingService;
let administrator: Messaging;
let gateway: Messaging;
let internal: Messaging;
beforeAll(async () => {
  service = await startBillingService({ holdSettledEvents: true, reaperIntervalMs: 50, planSweepIntervalMs: 100 });
  [administrator, gateway, internal] = await Promise.all([service.connect('cli'), service.connect('gateway'), service.connect('internal')]);
});
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

test('a settlement, and balance-low when it crosses the threshold', async () => {
  const acme = await customer('1', '0.50');
  const { accountId, projectId } = acme;
  const [settled, low] = [hear(holdSettled, accountId), hear(balanceLow, accountId)];
  const reserve = reserveOf(acme, PICO);
  await gateway.request(holdReserve, reserve);
  const usage = usageOf(600_000_000);
  const price = { ...reserve.price, inputPicoUsd: '1000' };
  const costly = { ...reserveOf(acme, 0n), price };
  await gateway.request(holdSettle, { holdId: reserve.holdId, accountId, reason: 'completed', usage: usageOf(1) });
  expect(await settled.next()).toEqual({
    settled: [{ holdId: reserve.holdId, accountId, projectId, reason: 'completed', costPicoUsd: '1', usage: usageOf(1) }],
  });
  await gateway.request(holdReserve, { ...costly, amountPicoUsd: String(PICO - 1n) });
  await gateway.request(holdSettle, { holdId: costly.holdId, accountId, reason: 'completed', usage });
  expect(await low.next()).toEqual({ accountId, balancePicoUsd: '399999999999', lowBalancePicoUsd: '500000000000' });
});

test('balance-low after a refund and a debit', async () => {
  const { accountId } = await customer('10', '5');
  const low = hear(balanceLow, accountId);
  await administrator.request(refundCreate, { accountId, refundId: randomUUID(), usd: '5.5' });
  /** A threshold is compared after the reply that set it, so a balance that falls in between may be published twice. */
  const published = async (lowBalance: bigint): Promise<object> => {
    for (;;) {
      const event = await low.next();
      if (event.lowBalancePicoUsd === String(lowBalance)) return event;
    }
  };
  expect(await published(5n * PICO)).toEqual({ accountId, balancePicoUsd: String((9n * PICO) / 2n), lowBalancePicoUsd: String(5n * PICO) });
  await administrator.request(accountUpdate, { accountId, lowBalanceUsd: '4' });
  await administrator.request(adjustmentCreate, { accountId, adjustmentId: randomUUID(), usd: '-1', reason: 'a test' });
  expect(await published(4n * PICO)).toEqual({ accountId, balancePicoUsd: String((7n * PICO) / 2n), lowBalancePicoUsd: String(4n * PICO) });
  await administrator.request(accountUpdate, { accountId, lowBalanceUsd: '100' });
  expect(await published(100n * PICO)).toMatchObject({ balancePicoUsd: String((7n * PICO) / 2n) });
});

test('balance-exhausted when the balance cannot cover a request', async () => {
  const acme = await customer('1');
  const { accountId } = acme;
  const exhausted = hear(balanceExhausted, accountId);
  await gateway.request(holdReserve, reserveOf(acme, 2n * PICO));
  expect(await exhausted.next()).toEqual({ accountId, balancePicoUsd: String(PICO), requiredPicoUsd: String(2n * PICO) });
});

test('plan-expired when a plan expires or is replaced', async () => {
  const { accountId } = await customer('1');
  const expired = hear(planExpired, accountId);
  const first = await administrator.request(planGrant, { accountId, usd: '2', expiresAt: '2099-01-01' });
  const second = await administrator.request(planGrant, { accountId, usd: '3', expiresAt: new Date(Date.now() + 1_500).toISOString() });
  expect(await expired.next()).toEqual({ accountId, grantId: first.grantId, forfeitedPicoUsd: String(2n * PICO) });
  expect(await expired.next()).toEqual({ accountId, grantId: second.grantId, forfeitedPicoUsd: String(3n * PICO) });
});

test('a revoked key', async () => {
  const { keyId, projectId } = await customer('1');
  const revoked = hear(keyRevoked, keyId);
  const { revokedAt } = await administrator.request(keyRevoke, { keyId });
  expect(await revoked.next()).toEqual({ keyId, projectId, revokedAt });
});

import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { accountCreate } from '#contracts/billing/accounts.js';
import { ledgerCheck } from '#contracts/billing/ledger.js';
import { adjustmentCreate, balanceGet } from '#contracts/billing/money.js';
import { movementList } from '#contracts/billing/movements.js';
import { autoTopupSet, autoTopupShow, checkoutCreate } from '#contracts/payments.js';
import type { Messaging } from '#messaging/messaging.js';
import { event, FakeStripe, refundEvent, STRIPE_KEY, STRIPE_SECRET, sendEvent } from '#testing/fake-stripe.js';
import { longOr } from '#testing/long-run.js';
import { type RunningStack, startPrivateStack } from '#testing/stack.js';
import { connectAdministrator } from '#testing/tenant.js';
import type { RunningReplicas } from '../../scripts/local/replicas.ts';
import { Random } from '../simulation/random.js';

/** Payments while billing and every replica of payments are killed, and Stripe's connections break. */

const EVENTS = longOr(200, 4_000);
const EVENT_KILLS = longOr(3, 60);
const TOPUP_ACCOUNTS = longOr(3, 12);
const SENDERS = 8;
/** A call to a process that was just killed has no answer. */
const SOON = { timeoutMs: 3_000 };
const DOLLAR = 1_000_000_000_000n;
/** The share of calls whose connection breaks, and of payments that take their time or are declined. */
const BREAKS = 0.3;

const stripe = await FakeStripe.start();
let running: RunningStack;
let others: RunningReplicas;
let administrator: Messaging;
let random: Random;

beforeAll(async () => {
  const settings = {
    ...{ STRIPE_SECRET_KEY: STRIPE_KEY, STRIPE_WEBHOOK_SECRET: STRIPE_SECRET, STRIPE_API_URL: stripe.url },
    AUTO_TOPUP_INTERVAL_MS: '50',
  };
  running = await startPrivateStack({ layout: 'split', services: ['billing', 'payments'], serviceEnv: { payments: settings } });
  const { startReplicas } = await import('../../scripts/local/replicas.ts');
  const second = { name: 'payments-2', service: 'payments', env: { ...settings, PAYMENTS_PORT: '0' } } as const;
  others = await startReplicas(running, [second]);
  administrator = await connectAdministrator(running);
});
afterAll(async () => {
  await administrator?.close();
  await others?.stop();
  await running?.stop();
  await stripe.stop();
});
beforeEach(() => {
  random = new Random(7);
  stripe.fault = () => undefined;
  stripe.onCharge = () => 'succeeded';
});
afterEach(async () => {
  // A replica that was killed last is back before the system stops.
  stripe.fault = () => undefined;
  await killing;
  expect(await administrator.request(ledgerCheck, {})).toMatchObject({ violations: [] });
});

test(`${EVENTS} duplicate, reordered, replayed and forged events under kills: every payment once, every refund once`, async () => {
  const accounts = await Promise.all(Array.from({ length: 4 }, newAccount));
  const expected = new Map<string, string[]>(accounts.map((account) => [account, []]));
  const letters: { payload: string; kind: 'genuine' | 'forged' | 'stale' }[] = [];
  while (letters.length < EVENTS) {
    const accountId = random.pick(accounts) as string;
    const payment = stripe.paid({ cents: 1 + Math.floor(random.between(0, 100_000)), accountId });
    const succeeded = () => ({ payload: event('payment_intent.succeeded', payment), kind: 'genuine' as const });
    const once = succeeded();
    const session = { id: 'cs_test_1', payment_status: 'paid', payment_intent: payment.id, amount_total: payment.amount, currency: 'usd' };
    const completed = event('checkout.session.completed', { ...session, metadata: payment.metadata });
    letters.push(once, once, succeeded(), { payload: completed, kind: 'genuine' });
    letters.push({ ...once, kind: 'forged' }, { ...once, kind: 'stale' });
    expected.get(accountId)?.push(`topup ${payment.id} ${cents(payment.amount)}`);
    if (random.chance(0.4)) continue;
    const [id, returned] = [`re_${letters.length}`, 1 + Math.floor(random.between(0, Number(payment.amount)))];
    const refund = refundEvent(payment, { id, cents: returned });
    letters.push({ payload: refund, kind: 'genuine' }, { payload: refund, kind: 'genuine' });
    expected.get(accountId)?.push(`refund ${id} -${cents(returned)}`);
  }
  shuffle(letters);
  stripe.fault = () => (random.chance(BREAKS) ? 'before' : undefined);
  const statuses: Record<string, Set<number>> = { genuine: new Set(), forged: new Set(), stale: new Set() };
  const senders = Array.from({ length: SENDERS }, async () => {
    for (let letter = letters.pop(); letter; letter = letters.pop()) {
      const { payload, kind } = letter;
      const options = kind === 'forged' ? { secret: 'whsec_forged' } : kind === 'stale' ? { ageSeconds: 4_000 } : {};
      for (;;) {
        const status = await sendEvent(running.webhookUrl as string, payload, options).catch(() => 0);
        statuses[kind]?.add(status);
        if (status === 200 || status === 400) break;
        await delay(100);
      }
    }
  });
  const killed = killInTurn(['payments', 'billing'], EVENT_KILLS);
  await Promise.all([...senders, killed]);
  expect([statuses.genuine?.has(400), statuses.forged?.has(200), statuses.stale?.has(200)]).toEqual([false, false, false]);
  for (const [accountId, rows] of expected) expect((await listMovements(accountId)).toSorted()).toEqual(rows.toSorted());
});

test('automatic top-ups of two processes under kills and broken calls reach the monthly cap, and never exceed it', async () => {
  const CAP = 3_500;
  const accounts = await Promise.all(Array.from({ length: TOPUP_ACCOUNTS }, storedCard));
  const atMost = new Map<string, number>();
  stripe.onCharge = () => random.pick(['succeeded', 'succeeded', 'processing', 'processing', 'declined'] as const) ?? 'succeeded';
  stripe.onPayment = () => {
    for (const accountId of accounts) {
      const taken = automatic(accountId).reduce((sum, payment) => sum + Number(payment.amount), 0);
      atMost.set(accountId, Math.max(taken, atMost.get(accountId) ?? 0));
    }
  };
  const rule = { thresholdUsd: '5', amountUsd: '10', monthlyCapUsd: '35' };
  const setRule = (accountId: string) => administrator.request(autoTopupSet, { accountId, ...rule }, SOON);
  stripe.fault = () => 'before'; // nothing begins before all rules are there
  await Promise.all(accounts.map(setRule));
  stripe.fault = (call) => {
    if (!call.includes('payment_intents') || !random.chance(BREAKS)) return undefined;
    // Between asking Stripe and learning what it did.
    if (random.chance(0.2)) void killOne();
    return random.chance(0.5) ? 'before' : 'after';
  };
  const end = Date.now() + longOr(60_000, 600_000);
  while (
    Date.now() < end &&
    accounts.some((accountId) => automatic(accountId).filter(({ status }) => status === 'succeeded').length < 3 || !isSpent(accountId))
  ) {
    for (const accountId of accounts) {
      for (const payment of automatic(accountId).filter(({ status }) => status === 'processing'))
        await sendEvent(running.webhookUrl as string, stripe.settle(payment.id, 'succeeded')).catch(() => 0);
      await spendAll(accountId);
      const shown = await administrator.request(autoTopupShow, { accountId }, SOON).catch(() => undefined);
      if (shown?.pausedBy) await setRule(accountId).catch(() => undefined);
    }
    await delay(50);
  }
  // Low again, with a cap that has room for a half: nothing more is asked for.
  const before = accounts.map((accountId) => automatic(accountId).length);
  await delay(1_000);
  expect(accounts.map((accountId) => automatic(accountId).length)).toEqual(before);
  expect([...atMost.values()]).toEqual(accounts.map(() => 3_000));
  expect(3_000).toBeLessThanOrEqual(CAP);
  for (const accountId of accounts) {
    const topups = (await listMovements(accountId)).filter((row) => row.startsWith('topup'));
    const taken = stripe.listPayments(accountId).filter(({ status }) => status !== 'canceled');
    expect(topups.toSorted()).toEqual(taken.map(({ id, amount }) => `topup ${id} ${cents(amount)}`).toSorted());
    expect(taken.map(({ status }) => status)).toEqual(taken.map(() => 'succeeded'));
  }
});

const spent = new Set<string>();
const isSpent = (accountId: string): boolean => spent.has(accountId);

/** Takes what is available, so that the account is low. */
async function spendAll(accountId: string): Promise<void> {
  const balance = await administrator.request(balanceGet, { accountId }, SOON).catch(() => undefined);
  if (balance === undefined) return;
  spent.delete(accountId);
  const free = BigInt(balance.available_pico_usd);
  if (free === 0n) return void spent.add(accountId);
  const usd = `-${free / DOLLAR}.${String(free % DOLLAR).padStart(12, '0')}`;
  await administrator
    .request(adjustmentCreate, { accountId, usd, adjustmentId: randomUUID(), reason: 'spends' }, SOON)
    .catch(() => undefined);
}

/** Payments that Tollgate asked for without a person, and that Stripe has taken or may take. */
function automatic(accountId: string) {
  return stripe
    .listPayments(accountId)
    .filter(({ metadata, status }) => 'tollgate_charge' in (metadata as object) && status !== 'canceled');
}

async function newAccount(): Promise<string> {
  return (await administrator.request(accountCreate, { name: 'pays by card' })).accountId;
}

/** An account that has paid a dollar, and stored the card. */
async function storedCard(): Promise<string> {
  const accountId = await newAccount();
  await administrator.request(checkoutCreate, { accountId, usd: '1', saveCard: true });
  const [sessionId] =
    [...stripe.sessions].find(([, { metadata }]) => (metadata as Record<string, string>).tollgate_account === accountId) ?? [];
  for (const payload of stripe.pay(sessionId as string)) expect(await sendEvent(running.webhookUrl as string, payload)).toBe(200);
  return accountId;
}

async function listMovements(accountId: string): Promise<string[]> {
  const rows: string[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await administrator.request(movementList, { accountId, limit: 200, cursor });
    rows.push(...page.movements.map(({ kind, reference, amountPicoUsd }) => `${kind} ${reference} ${amountPicoUsd}`));
    if (page.nextCursor === null) return rows;
    cursor = page.nextCursor;
  }
}

async function killInTurn(names: ('payments' | 'billing')[], count: number): Promise<void> {
  for (let at = 0; at < count; at++) {
    await delay(random.between(200, 600));
    const name = names[at % names.length] as 'payments' | 'billing';
    await running.kill(name);
    await running.ready(name);
  }
}

let killing: Promise<void> | undefined;

/** Kills a replica of payments; one at a time. */
async function killOne(): Promise<void> {
  killing ??= (async () => {
    if (random.chance(0.5)) await running.kill('payments').then(() => running.ready('payments'));
    else await others.kill('payments-2').then(() => others.ready('payments-2'));
  })().finally(() => {
    killing = undefined;
  });
  return killing;
}

function cents(amount: unknown): string {
  return String(BigInt(amount as number) * 10_000_000_000n);
}

function shuffle(items: unknown[]): void {
  for (let at = items.length - 1; at > 0; at--) {
    const other = Math.floor(random.between(0, at + 1));
    [items[at], items[other]] = [items[other], items[at]];
  }
}

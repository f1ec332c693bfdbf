import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { pino } from 'pino';
import { accountCreate, accountUpdate } from '#contracts/billing/accounts.js';
import { budgetSet } from '#contracts/billing/budgets.js';
import type { MoneyEvent, MoneyEventKind } from '#contracts/billing/events.js';
import { holdReserve, holdSettle, type ReserveRequest } from '#contracts/billing/holds.js';
import { keyCreate, keyUpdate } from '#contracts/billing/keys.js';
import { adjustmentCreate, planGrant, topupCreate } from '#contracts/billing/money.js';
import { projectCreate } from '#contracts/billing/projects.js';
import { webhookAdd, webhookList } from '#contracts/billing/webhooks.js';
import type { Endpoint } from '#contracts/endpoint.js';
import { connectMessaging } from '#messaging/connect-messaging.js';
import type { Messaging } from '#messaging/messaging.js';
import { longOr } from '#testing/long-run.js';
import { type RunningStack, startPrivateStack } from '#testing/stack.js';
import { connectAdministrator } from '#testing/tenant.js';
import { type Customer, makeReserve, makeUsage } from '../../apps/billing/test/ledger-fixture.js';
import type { RunningReplicas } from '../../scripts/local/replicas.ts';

/**
 * Two billing services are killed in turn while accounts go through the changes that are events. No event is lost or told twice under another
 * id, and the order of each account is kept.
 */
const KILLS = longOr(4, 300);
/** Pause between two changes of an account. */
const PAUSE_MS = 30;
const ANSWERED_MS = 2_000;
const EVENT_INTERVAL = { EVENT_INTERVAL_MS: '50' };

let running: RunningStack;
let others: RunningReplicas;
let administrator: Messaging;
let gateway: Messaging;
let database: pg.Client;
let receiver: Server;
const received: { path: string; event: MoneyEvent }[] = [];

beforeAll(async () => {
  receiver = createServer((request, response) => {
    const path = request.url ?? '';
    if (path === '/hangs') return;
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      received.push({ path, event: JSON.parse(Buffer.concat(chunks).toString()) });
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  running = await startPrivateStack({ services: ['billing', 'catalog'], serviceEnv: { billing: EVENT_INTERVAL }, ownPostgres: true });
  const { startReplicas } = await import('../../scripts/local/replicas.ts');
  others = await startReplicas(running, [{ name: 'billing-2', service: 'billing', env: EVENT_INTERVAL }]);
  administrator = await connectAdministrator(running);
  const connection = { url: running.natsUrl, user: 'gateway', password: running.natsPasswords.gateway, service: 'gateway' };
  gateway = await connectMessaging({ ...connection, requestTimeoutMs: ANSWERED_MS, logger: pino({ level: 'silent' }) });
  database = new pg.Client({ connectionString: running.databaseUrl });
  await database.connect();
});
afterAll(async () => {
  await Promise.all([administrator?.close(), gateway?.close(), database?.end()]);
  await others?.stop();
  await running?.stop();
  receiver.closeAllConnections();
  await new Promise((resolve) => receiver.close(resolve));
});

const makeUrl = (path: string): string => `http://127.0.0.1:${(receiver.address() as AddressInfo).port}${path}`;

/** Repeats a request with an id until billing, which dies meanwhile, has answered it. */
async function persist<Result>(request: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await request();
    } catch {
      await delay(50);
    }
  }
}

async function openAccount(usd = '100'): Promise<Customer> {
  const { accountId } = await administrator.request(accountCreate, { name: 'Acme' });
  const { projectId } = await administrator.request(projectCreate, { accountId, name: 'main' });
  const { keyId } = await administrator.request(keyCreate, { projectId });
  await administrator.request(topupCreate, { accountId, usd, paymentId: randomUUID() });
  return { accountId, projectId, keyId };
}

/** Asks as the operator does. Requests with an id, and those that set something, may be repeated. */
function ask<Request extends object, Reply>(endpoint: Endpoint<Request, Reply>, request: Request): Promise<Reply> {
  return persist(() => administrator.request(endpoint, request, { timeoutMs: ANSWERED_MS }));
}

const reserve = (request: ReserveRequest) => persist(() => gateway.request(holdReserve, request));

/** An account that changes; `change` returns the number of events that it has made for certain. */
interface Subject {
  customer: Customer;
  kind: MoneyEventKind;
  change(): Promise<number>;
  /** True when only one of all refusals within a minute is an event. */
  isLimited?: boolean;
}

async function subjects(): Promise<Subject[]> {
  const [low, plan, threshold, frozen, expiring, poor, budgeted] = (await Promise.all(
    ['100', '100', '100', '100', '100', '1', '100'].map(openAccount),
  )) as [Customer, Customer, Customer, Customer, Customer, Customer, Customer];
  await ask(accountUpdate, { accountId: low.accountId, lowBalanceUsd: '100' });
  // One settlement passes three thresholds of each limit as low as this.
  await setBudget(threshold, 1_000n);
  const spending = makeReserve(threshold, 100n);
  await reserve(spending);
  const spent = { holdId: spending.holdId, accountId: threshold.accountId, reason: 'completed', usage: makeUsage(100) } as const;
  await persist(() => gateway.request(holdSettle, spent));
  await setBudget(budgeted, 1n);
  let granted = 0;
  let days = 0;
  return [
    { customer: low, kind: 'balance-low', change: () => cross(low) },
    {
      customer: plan,
      kind: 'plan-expired',
      change: async () => {
        const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
        await ask(planGrant, { accountId: plan.accountId, usd: '1', expiresAt, grantKey: randomUUID() });
        return granted++ === 0 ? 0 : 1; // each replaces the one before
      },
    },
    {
      customer: threshold,
      kind: 'budget-threshold',
      change: async () => {
        await setBudget(threshold, 100n);
        await setBudget(threshold, 1_000n);
        return 3;
      },
    },
    {
      customer: frozen,
      kind: 'account-frozen',
      change: async () => {
        for (const status of ['frozen', 'active'] as const) await ask(accountUpdate, { accountId: frozen.accountId, status });
        return 1;
      },
    },
    {
      customer: expiring,
      kind: 'key-expiring',
      change: async () => {
        const events = await written(expiring);
        const expiresAt = new Date(Date.now() + 86_400_000 + ++days * 60_000).toISOString();
        await ask(keyUpdate, { keyId: expiring.keyId, expiresAt });
        while ((await written(expiring)).length === events.length) await delay(200); // a later end would replace it
        return 1;
      },
    },
    { customer: poor, kind: 'balance-exhausted', isLimited: true, change: () => reserve(makeReserve(poor, 2n * 10n ** 12n)).then(() => 1) },
    { customer: budgeted, kind: 'budget-exhausted', isLimited: true, change: () => reserve(makeReserve(budgeted, 2n)).then(() => 1) },
  ];
}

function setBudget({ accountId }: Customer, limit: bigint): Promise<unknown> {
  return ask(budgetSet, { accountId, period: 'total', limitPicoUsd: `${limit}` });
}

/** Takes the balance below its threshold and back. */
async function cross({ accountId }: Customer): Promise<number> {
  for (const usd of ['-1', '1']) await ask(adjustmentCreate, { accountId, adjustmentId: randomUUID(), usd, reason: 'a test' });
  return 1;
}

/** Events of the outbox in the order of their account. */
async function written({ accountId }: Customer): Promise<{ eventId: string; sequence: number; kind: MoneyEventKind }[]> {
  const { rows } = await database.query(
    'SELECT id AS "eventId", sequence::int, kind FROM billing.money_event WHERE account_id = $1 ORDER BY sequence',
    [accountId],
  );
  return rows;
}

/** Changes an account until `signal` aborts. Returns the number of events. */
async function changeUntil(signal: AbortSignal, { change }: Subject): Promise<number> {
  let events = 0;
  while (!signal.aborted) {
    events += await change();
    await delay(PAUSE_MS);
  }
  return events;
}

test(
  `after ${KILLS} kills of two billing services each change has its event at least once, with one id and in the order of its account`,
  async () => {
    for (const path of ['/hangs', '/all']) await administrator.request(webhookAdd, { url: makeUrl(path), allowPrivateNetwork: true });
    const changing = await subjects();
    const enough = new AbortController();
    const changes = changing.map((subject) => changeUntil(enough.signal, subject));
    for (let kill = 0; kill < KILLS; kill++) {
      await delay(Math.random() * 400);
      await (kill % 2 === 0 ? running.kill('billing') : others.kill('billing-2'));
      await (kill % 2 === 0 ? running.ready('billing') : others.ready('billing-2'));
    }
    enough.abort();
    const counts = await Promise.all(changes);
    let all = 0;
    for (const [index, { customer, kind, isLimited }] of changing.entries()) {
      const outbox = await written(customer);
      all += outbox.length;
      expect({ kind, kinds: [...new Set(outbox.map((event) => event.kind))] }).toEqual({ kind, kinds: [kind] });
      if (isLimited) expect(outbox.length).toBeGreaterThan(0);
      else expect({ kind, events: outbox.length }).toEqual({ kind, events: counts[index] });
      const listEvents = () => received.filter(({ path, event }) => path === '/all' && event.accountId === customer.accountId);
      while (!listEvents().some(({ event }) => event.sequence === outbox.length)) await delay(50);
      const delivered = new Map(listEvents().map(({ event: { eventId, sequence } }) => [eventId, sequence]));
      expect([...delivered]).toEqual(outbox.map(({ eventId, sequence }) => [eventId, sequence]));
    }
    const { webhooks } = await ask(webhookList, {});
    const [hangs] = webhooks;
    expect({ undelivered: hangs?.undelivered, deadLetters: hangs?.deadLetters }).toEqual({ undelivered: all, deadLetters: 0 });
  },
  longOr(120_000, 3_600_000),
);

import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { accountCreate, accountUpdate } from '#contracts/billing/accounts.js';
import type { MoneyEvent } from '#contracts/billing/events.js';
import { adjustmentCreate, topupCreate } from '#contracts/billing/money.js';
import { webhookAdd, webhookList } from '#contracts/billing/webhooks.js';
import type { Messaging } from '#messaging/messaging.js';
import { longOr } from '#testing/long-run.js';
import { type RunningStack, startPrivateStack } from '#testing/stack.js';
import { connectAdministrator } from '#testing/tenant.js';

/** Billing is killed again and again while the balances of accounts cross their thresholds. No event is lost, and the order is kept. */
const KILLS = longOr(4, 300);
const ACCOUNTS = 3;

let running: RunningStack;
let administrator: Messaging;
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
  running = await startPrivateStack({ services: ['billing', 'catalog'], serviceEnv: { billing: { EVENT_INTERVAL_MS: '50' } } });
  administrator = await connectAdministrator(running);
});
afterAll(async () => {
  await administrator?.close();
  await running?.stop();
  receiver.closeAllConnections();
  await new Promise((resolve) => receiver.close(resolve));
});

const urlOf = (path: string): string => `http://127.0.0.1:${(receiver.address() as AddressInfo).port}${path}`;

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

async function openAccount(): Promise<string> {
  const { accountId } = await administrator.request(accountCreate, { name: 'Acme' });
  await administrator.request(topupCreate, { accountId, usd: '100', paymentId: randomUUID() });
  await administrator.request(accountUpdate, { accountId, lowBalanceUsd: '100' });
  return accountId;
}

/** Takes the balance below its threshold and back, until `signal` aborts. Returns the number of times, each of them an event. */
async function cross(accountId: string, signal: AbortSignal): Promise<number> {
  let times = 0;
  while (!signal.aborted) {
    for (const usd of ['-1', '1']) {
      const adjustment = { accountId, adjustmentId: randomUUID(), usd, reason: 'a test' };
      await persist(() => administrator.request(adjustmentCreate, adjustment, { timeoutMs: 2_000 }));
    }
    times++;
  }
  return times;
}

test(
  `after ${KILLS} kills of billing each change has its event at least once, with one id and in the order of its account`,
  async () => {
    for (const path of ['/hangs', '/all']) await administrator.request(webhookAdd, { url: urlOf(path), allowPrivateNetwork: true });
    const accounts = await Promise.all(Array.from({ length: ACCOUNTS }, openAccount));
    const enough = new AbortController();
    const crossings = accounts.map((accountId) => cross(accountId, enough.signal));
    for (let kill = 0; kill < KILLS; kill++) {
      await delay(Math.random() * 400);
      await running.kill('billing');
      await running.ready('billing');
    }
    enough.abort();
    const times = await Promise.all(crossings);
    const eventsOf = (accountId: string): MoneyEvent[] =>
      received.flatMap(({ path, event }) => (path === '/all' && event.accountId === accountId ? [event] : []));
    for (const [index, accountId] of accounts.entries()) {
      const count = times[index] ?? 0;
      while (!eventsOf(accountId).some(({ sequence }) => sequence === count)) await delay(50);
      const events = eventsOf(accountId);
      const idOf = new Map(events.map(({ sequence, eventId }) => [sequence, eventId]));
      expect(events.every(({ sequence, eventId }) => idOf.get(sequence) === eventId)).toBe(true);
      expect([...new Set(events.map(({ sequence }) => sequence))]).toEqual(Array.from({ length: count }, (_, at) => at + 1));
    }
    const { webhooks } = await persist(() => administrator.request(webhookList, {}));
    const [hangs] = webhooks;
    expect({ undelivered: hangs?.undelivered, deadLetters: hangs?.deadLetters }).toEqual({
      undelivered: times.reduce((sum, count) => sum + count),
      deadLetters: 0,
    });
  },
  longOr(120_000, 3_600_000),
);

import { randomUUID } from 'node:crypto';
import type { MoneyEvent } from '#contracts/billing/events.js';
import type { Topic } from '#contracts/endpoint.js';
import { connectPg } from '#database/pg-connection.js';
import { picoUsd } from '#money/pico-usd.js';
import { type Customer, LedgerFixture, makeReserve } from '../../test/ledger-fixture.js';
import { WebhookReceiver } from '../../test/webhook-receiver.js';
import { adjust } from '../ledger/adjust.js';
import { EventDeliverer, type EventDelivererOptions } from './event-deliverer.js';
import type { UndeliveredEvents } from './keep-events.js';
import { replayWebhook } from './replay-webhook.js';
import { WebhookClient } from './webhook-client.js';
import { WebhookDeliveries } from './webhook-deliveries.js';
import { addWebhook, listWebhooks } from './webhooks.js';

const PEPPER = 'p'.repeat(32);
const APPLICATION = 'test-events';
const author = { caller: { actor: 'test', actorName: null, via: null, ip: null, requestId: null } };

let ledger: LedgerFixture;
let receiver: WebhookReceiver;
let client: WebhookClient;
const deliverers: EventDeliverer[] = [];

beforeEach(async () => {
  [ledger, receiver] = await Promise.all([LedgerFixture.open({ guarded: true }), WebhookReceiver.start()]);
  client = new WebhookClient({ timeoutMs: 1_000 });
});
afterEach(async () => {
  await Promise.all(deliverers.splice(0).map((deliverer) => deliverer.stop()));
  await Promise.all([client.close(), receiver.stop()]);
  await ledger.close();
});

/** An account whose threshold is its balance, so that each debit that follows a credit is an event. */
async function customer(): Promise<Customer> {
  const made = await ledger.customer({ topup: 1_000n });
  await ledger.sql.query('BEGIN');
  await ledger.sql.query('UPDATE billing.account SET low_balance = 1000 WHERE id = $1', [made.accountId]);
  await ledger.sql.query(`SELECT billing.record_audit('{"actor": "test"}', 'test', NULL, $1, NULL, NULL, NULL)`, [
    `account/${made.accountId}`,
  ]);
  await ledger.sql.query('COMMIT');
  return made;
}

/** Takes the balance below the threshold and back, `count` times: as many events. */
async function cross({ accountId }: Customer, count = 1): Promise<void> {
  const move = (kind: 'debit' | 'credit') =>
    adjust(ledger.sql, { accountId, adjustmentId: randomUUID(), kind, amount: picoUsd(1n), reason: 'a test' });
  for (let done = 0; done < count; done++) {
    await move('debit');
    await move('credit');
  }
}

const add = async (path: string, accountId?: string): Promise<string> => {
  const request = { accountId, url: receiver.url(path), allowPrivateNetwork: true };
  return (await addWebhook(ledger.prisma, request, PEPPER, author)).webhookId;
};

/** The events that were published on NATS, as `<sequence> <id>`. */
let published: string[];
beforeEach(() => {
  published = [];
});

async function publish(_: Topic<MoneyEvent>, event: MoneyEvent): Promise<void> {
  published.push(`${event.sequence} ${event.eventId}`);
}

function newDeliverer(options: Partial<EventDelivererOptions> & { retrySeconds?: number[] } = {}): EventDeliverer {
  const { retrySeconds = [0], ...others } = options;
  const deliverer = new EventDeliverer({
    connect: () => connectPg({ url: ledger.url, applicationName: APPLICATION }),
    messaging: { publishConfirmed: publish as never, connected: true },
    webhooks: new WebhookDeliveries({ client, messages: { pepper: PEPPER, panelUrl: null }, retrySeconds, logger: ledger.logger }),
    intervalMs: 20,
    keepIntervalMs: 0,
    logger: ledger.logger,
    ...others,
  });
  deliverers.push(deliverer);
  return deliverer;
}

/** Ends the connection of the replica that delivers, as its death would. */
async function killLeader(): Promise<void> {
  await ledger.sql.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1', [APPLICATION]);
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 10));
}

const undelivered = async (): Promise<number> => {
  const { rows } = await ledger.sql.query('SELECT count(*)::int AS count FROM billing.money_event WHERE published_at IS NULL');
  return rows[0]?.count as number;
};

test('an event without a delivery is there after a restart; one whose mark was lost is repeated with its id', async () => {
  const acme = await customer();
  await cross(acme, 3);
  let deaths = 0;
  const messaging = {
    connected: true,
    publishConfirmed: async (topic: never, event: never) => {
      await publish(topic, event);
      if ((event as MoneyEvent).sequence === 3 && deaths++ === 0) await killLeader();
    },
  };
  newDeliverer({ messaging }).start();
  await until(async () => (await undelivered()) === 0);
  const [first, second, third, ...repeated] = published;
  expect(published.map((line) => Number(line.split(' ')[0]))).toEqual([1, 2, 3, 1, 2, 3]);
  expect(repeated).toEqual([first, second, third]);
});

test('webhooks: the death of the leader between a delivery and its mark repeats the event with its id, and keeps the order', async () => {
  const [acme, globex] = [await customer(), await customer()];
  await add('/all');
  let deaths = 0;
  receiver.answer = async (response, { event }) => {
    if (event.sequence === 2 && deaths++ < 2) await killLeader();
    response.writeHead(200).end();
  };
  newDeliverer().start();
  newDeliverer().start();
  await cross(acme, 4);
  await cross(globex, 4);
  for (const { accountId } of [acme, globex]) {
    await receiver.until(() => receiver.sequences('/all', accountId).includes(4));
    const sequences = receiver.sequences('/all', accountId);
    expect([...new Set(sequences)]).toEqual([1, 2, 3, 4]);
    const ids = receiver.at('/all').filter(({ event }) => event.accountId === accountId);
    expect(new Set(ids.map(({ event }) => event.eventId)).size).toBe(4);
  }
  expect(deaths).toBeGreaterThan(1);
});

test('one replica delivers at a time', async () => {
  const acme = await customer();
  await cross(acme, 20);
  const allHaveTried = Promise.withResolvers<void>();
  const publishConfirmed = (...message: Parameters<typeof publish>) => allHaveTried.promise.then(() => publish(...message));
  const messaging = { publishConfirmed: publishConfirmed as never, connected: true };
  const replicas = [newDeliverer({ messaging }), newDeliverer({ messaging }), newDeliverer({ messaging })];
  for (const replica of replicas) await replica.tick();
  allHaveTried.resolve();
  for (const replica of replicas) replica.start();
  await until(async () => (await undelivered()) === 0);
  expect(published.map((line) => Number(line.split(' ')[0]))).toEqual(Array.from({ length: 20 }, (_, at) => at + 1));
});

test('while NATS is away, webhooks are delivered, and events wait without an attempt', async () => {
  const acme = await customer();
  await add('/acme', acme.accountId);
  const messaging = { connected: false, publishConfirmed: publish as never };
  newDeliverer({ messaging }).start();
  await cross(acme, 2);
  await receiver.until(() => receiver.sequences('/acme').length === 2);
  expect({ published, waiting: await undelivered() }).toEqual({ published: [], waiting: 2 });
  messaging.connected = true;
  await until(async () => (await undelivered()) === 0);
  expect(published).toHaveLength(2);
});

test('a receiver that hangs delays no other webhook and no other account', async () => {
  const [acme, globex] = [await customer(), await customer()];
  await Promise.all([add('/hangs', acme.accountId), add('/all')]);
  receiver.answer = (response, { path, event }) => {
    const hangs = path === '/hangs' || (path === '/all' && event.accountId === acme.accountId);
    if (!hangs) response.writeHead(204).end();
  };
  newDeliverer().start();
  await cross(acme, 2);
  await cross(globex, 12);
  await receiver.until(() => receiver.sequences('/all', globex.accountId).length === 12);
  expect(receiver.sequences('/hangs').every((sequence) => sequence === 1)).toBe(true);
});

test('an event that is refused is repeated in its place, and the next one waits for it', async () => {
  const acme = await customer();
  await add('/acme', acme.accountId);
  let refusals = 0;
  receiver.answer = (response) => response.writeHead(refusals++ < 3 ? 500 : 200).end();
  newDeliverer().start();
  await cross(acme, 2);
  await receiver.until(() => receiver.sequences('/acme').length === 5);
  expect(receiver.sequences('/acme')).toEqual([1, 1, 1, 1, 2]);
  expect(new Set(receiver.at('/acme').map(({ body }) => body)).size).toBe(2);
});

test('an event of more than three days is given up at the next failure; a replay sends it again', async () => {
  const acme = await customer();
  const webhookId = await add('/acme', acme.accountId);
  receiver.answer = (response) => response.writeHead(410).end('x'.repeat(1_000_000));
  await cross(acme, 2);
  await ledger.sql.query(`UPDATE billing.money_event SET created_at = now() - interval '73 hours' WHERE sequence = 1`);
  newDeliverer({ retrySeconds: [3_600] }).start();
  await until(
    async () => (await listWebhooks(ledger.prisma, {}, author)).webhooks[0]?.failure === 'status 410' && receiver.received.length === 2,
  );
  const [webhook] = (await listWebhooks(ledger.prisma, {}, author)).webhooks;
  const deadSince = expect.stringMatching(/Z$/);
  expect(webhook).toMatchObject({ undelivered: 1, failure: 'status 410', deadLetters: 1, deadSince });
  receiver.answer = (response) => response.writeHead(200).end();
  const from = webhook?.deadSince ?? '';
  expect(await replayWebhook(ledger.prisma, { webhookId, from }, author)).toEqual({ webhookId, events: 2 });
  await receiver.until(() => receiver.received.length === 4);
  expect(receiver.sequences('/acme')).toEqual([1, 2, 1, 2]);
  await until(async () => (await listWebhooks(ledger.prisma, {}, author)).webhooks[0]?.undelivered === 0);
  expect((await listWebhooks(ledger.prisma, {}, author)).webhooks[0]).toMatchObject({ failure: null, deadLetters: 0, deadSince: null });
});

test('a replay during a delivery repeats the events from its time on, whatever becomes of the delivery', async () => {
  const acme = await customer();
  const webhookId = await add('/acme', acme.accountId);
  let replayed = false;
  receiver.answer = async (response, { event }) => {
    if (event.sequence === 2 && !replayed) {
      replayed = true;
      await replayWebhook(ledger.prisma, { webhookId, from: new Date(0).toISOString() }, author);
    }
    response.writeHead(200).end();
  };
  await cross(acme, 2);
  newDeliverer().start();
  await receiver.until(() => receiver.sequences('/acme').length === 4);
  expect(receiver.sequences('/acme')).toEqual([1, 2, 1, 2]);
});

test('a key that will soon expire is one event for each end that it is given', async () => {
  const { accountId, keyId } = await customer();
  const setEnd = async (days: number): Promise<void> => {
    await ledger.sql.query('BEGIN');
    await ledger.sql.query(`UPDATE billing.api_key SET expires_at = now() + $2 * interval '1 day' WHERE id = $1`, [keyId, days]);
    await ledger.sql.query(`SELECT billing.record_audit('{"actor": "test"}', 'test', NULL, $1, NULL, NULL, NULL)`, [`key/${keyId}`]);
    await ledger.sql.query('COMMIT');
  };
  const counted: UndeliveredEvents[] = [];
  newDeliverer({
    messaging: { connected: false, publishConfirmed: publish as never },
    onCounted: (counts) => counts && counted.push(counts),
  }).start();
  for (const [days, events] of [
    [8, 0],
    [6, 1],
    [5, 2],
  ] as const) {
    await setEnd(days);
    const before = counted.length;
    await until(() => counted.length > before + 2);
    expect(counted.at(-1)?.nats.count).toBe(events);
  }
  const { rows } = await ledger.sql.query('SELECT kind, account_id, sequence::int FROM billing.money_event ORDER BY sequence');
  expect(rows).toEqual([1, 2].map((sequence) => ({ kind: 'key-expiring', account_id: accountId, sequence })));
});

test('old events are deleted when they are delivered, and not before', async () => {
  const acme = await customer();
  await add('/acme', acme.accountId);
  receiver.answer = (response, { event }) => response.writeHead(event.sequence === 1 ? 200 : 500).end();
  let rounds = 0;
  newDeliverer({ retrySeconds: [3_600], onCounted: () => rounds++ }).start();
  await cross(acme, 3);
  await until(async () => (await listWebhooks(ledger.prisma, {}, author)).webhooks[0]?.failure === 'status 500');
  await until(async () => (await undelivered()) === 0);
  await ledger.sql.query(`UPDATE billing.money_event SET created_at = now() - interval '31 days'`);
  const before = rounds;
  await until(() => rounds > before + 2);
  const { rows } = await ledger.sql.query('SELECT sequence::int FROM billing.money_event ORDER BY sequence');
  expect(rows.map(({ sequence }) => sequence)).toEqual([2, 3]);
});

test('old events that wait for NATS are kept', async () => {
  await cross(await customer());
  await ledger.sql.query(`UPDATE billing.money_event SET created_at = now() - interval '31 days'`);
  let rounds = 0;
  newDeliverer({ messaging: { connected: false, publishConfirmed: publish as never }, onCounted: () => rounds++ }).start();
  await until(() => rounds > 2);
  expect(await undelivered()).toBe(1);
});

test('many refused requests write one event', async () => {
  const acme = await customer();
  const lanes = ledger.newLanes();
  for (let count = 0; count < 30; count++) {
    expect(await lanes.reserve(makeReserve(acme, 5_000n))).toMatchObject({ status: 'refused', code: 'insufficient_balance' });
  }
  const { rows } = await ledger.sql.query('SELECT kind, payload FROM billing.money_event');
  expect(rows).toEqual([{ kind: 'balance-exhausted', payload: { balancePicoUsd: '1000', requiredPicoUsd: '5000' } }]);
});

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type NatsConnection } from 'nats';
import { accountFrozen } from '#contracts/billing/events.js';
import { startNatsServer, type TestNatsServer } from '#testing/nats-server.js';
import { Connections, eventually } from '../testing/test-services.js';
import { MessagingError } from './messaging.js';
import type { NatsMessaging } from './nats-messaging.js';

const ACCOUNT = '0190a6f0-7c1e-7000-8000-00000000000a';
const EVENT = { kind: 'account-frozen', accountId: ACCOUNT, sequence: 1, createdAt: '2026-11-21T06:31:50.316Z', reason: null } as const;

let folder: string;
let server: TestNatsServer;
let observer: NatsConnection;
let publisher: NatsMessaging;
const connections = new Connections(() => server.url);
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tollgate-jetstream-'));
  server = await startNatsServer(['-js', '-sd', folder]);
  observer = await connect({ servers: server.url });
  publisher = await connections.connect('billing');
});
afterEach(async () => {
  await connections.closeAll();
  await observer.close();
  await server.stop();
  await rm(folder, { recursive: true });
});

const publish = (eventId: string) => publisher.publishConfirmed(accountFrozen, { ...EVENT, eventId }, eventId);

test('a stream stores an event once, however often it is published', async () => {
  const manager = await observer.jetstreamManager();
  await manager.streams.add({ name: 'MONEY', subjects: ['billing.v1.event.account-frozen'] });
  for (const id of ['a', 'a', 'b', 'a']) await publish(id);
  const { state } = await manager.streams.info('MONEY');
  expect(state.messages).toBe(2);
  const stored = await manager.streams.getMessage('MONEY', { seq: 1 });
  expect({ id: stored.header.get('Nats-Msg-Id'), event: stored.json() }).toEqual({ id: 'a', event: { ...EVENT, eventId: 'a' } });
});

test('without a stream subscribers get the event with its id', async () => {
  const received = observer.subscribe(accountFrozen.subject, { max: 1 });
  await observer.flush();
  await publish('a');
  for await (const message of received) {
    expect({ id: message.headers?.get('Nats-Msg-Id'), event: message.json() }).toEqual({ id: 'a', event: { ...EVENT, eventId: 'a' } });
  }
});

test('a stream that refuses the event is a failure, and so is a lost connection', async () => {
  const manager = await observer.jetstreamManager();
  await manager.streams.add({ name: 'FULL', subjects: ['billing.v1.event.>'], max_msgs: 1, discard: 'new' as never });
  await publish('a');
  await expect(publish('b')).rejects.toThrow(MessagingError);
  await server.kill();
  await eventually(() => !publisher.connected);
  await expect(publish('c')).rejects.toThrow(MessagingError);
  await server.restart();
});

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { jest } from '@jest/globals';
import { type EndedRequest, requestsEnded } from '#contracts/gateway.js';
import { PanelFixture } from '../../test/panel-fixture.js';
import { API_PREFIX } from '../http/routes.js';
import { PING_MS } from './live.controller.js';

const ACME = randomUUID();
const OTHER = randomUUID();

const panel = await PanelFixture.open();
const viewer = await panel.person('viewer', ACME);
afterEach(() => jest.useRealTimers());
afterAll(() => panel.close());

/** Only the interval of the pings is moved by hand. */
const REAL_TIMERS = [
  'nextTick',
  'setImmediate',
  'clearImmediate',
  'setTimeout',
  'clearTimeout',
  'Date',
  'performance',
  'hrtime',
  'queueMicrotask',
] as const;

const request = (accountId: string): EndedRequest => ({
  requestId: `req_${randomUUID()}`,
  receivedAt: new Date().toISOString(),
  accountId,
  protocol: 'chat',
  stream: false,
  status: 200,
  endedMs: 1,
});

/** Opens the live requests of Acme, up to the first ping. */
async function open(cookie: string): Promise<IncomingMessage> {
  const { port } = panel.app.getHttpServer().address() as AddressInfo;
  const sent = httpRequest({ port, path: `${API_PREFIX}/accounts/${ACME}/live`, headers: { cookie } }).end();
  const [reply] = (await once(sent, 'response')) as [IncomingMessage];
  reply.setEncoding('utf8');
  await once(reply, 'data');
  return reply;
}

test('requests of the account arrive as events', async () => {
  const reply = await open(viewer.cookie);
  const [mine, others] = [request(ACME), request(OTHER)];
  panel.messaging.publish(requestsEnded, { requests: [others, mine] });
  const [text] = (await once(reply, 'data')) as [string];
  expect([reply.headers['content-type'], reply.headers['cache-control'], text]).toEqual([
    'text/event-stream; charset=utf-8',
    'no-store',
    `event: requests\ndata: ${JSON.stringify([mine])}\n\n`,
  ]);
  reply.destroy();
});

test('a stream ends with its session, and does not keep it from going idle', async () => {
  jest.useFakeTimers({ doNotFake: [...REAL_TIMERS] });
  const reply = await open(await panel.session(viewer));
  const seen = 'SELECT max(seen_at) AS at FROM panel.session';
  await panel.sql.query("UPDATE panel.session SET seen_at = now() - interval '29 minutes'");
  const { rows: before } = await panel.sql.query(seen);
  const pinged = once(reply, 'data');
  jest.advanceTimersByTime(PING_MS);
  expect(await pinged).toEqual([': ping\n\n']);
  expect((await panel.sql.query(seen)).rows).toEqual(before);
  await panel.sql.query("UPDATE panel.session SET seen_at = now() - interval '31 minutes'");
  const end = once(reply, 'end');
  jest.advanceTimersByTime(PING_MS);
  await end;
});

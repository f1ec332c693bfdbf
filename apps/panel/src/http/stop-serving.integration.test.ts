import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { PanelFixture, type SignedIn } from '../../test/panel-fixture.js';
import { LiveRequests } from '../activity/live-requests.js';
import { API_PREFIX } from './routes.js';
import { stopServing } from './stop-serving.js';

const WAITING = `SELECT FROM pg_locks WHERE NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;

let panel: PanelFixture;
let admin: SignedIn;
let url: string;
beforeEach(async () => {
  panel = await PanelFixture.open();
  admin = await panel.person('admin');
  url = (await panel.app.getUrl()) + API_PREFIX;
});
afterEach(() => panel.close());

const get = (path: string) => fetch(url + path, { headers: { cookie: admin.cookie } });

/** Sends a request that waits for a lock until the owner of the database rolls back. */
async function waitingRequest(): Promise<{ reply: Promise<Response> }> {
  await panel.sql.query('BEGIN; LOCK TABLE panel.token IN ACCESS EXCLUSIVE MODE');
  const reply = get('/tokens');
  reply.catch(() => undefined); // the test looks at it later
  while ((await panel.sql.query(WAITING)).rowCount === 0) await delay(5);
  return { reply };
}

test('at a stop a running request is answered, live requests end, and new connections are refused', async () => {
  const live = await get(`/accounts/${randomUUID()}/live`);
  const { reply } = await waitingRequest();
  const stopped = stopServing(panel.app.getHttpServer(), panel.app.get(LiveRequests), 60_000);
  expect(await live.text()).toBe(': ping\n\n');
  await expect(fetch(url)).rejects.toMatchObject({ cause: { code: 'ECONNREFUSED' } });
  await panel.sql.query('ROLLBACK');
  expect((await reply).status).toBe(200);
  await stopped;
});

test('after the grace the stop waits no longer, and a request that still runs is cut off', async () => {
  await waitingRequest();
  await stopServing(panel.app.getHttpServer(), panel.app.get(LiveRequests), 50);
  const cut = once(panel.app.getHttpServer(), 'close');
  const closing = panel.app.close();
  await cut;
  await panel.sql.query('ROLLBACK');
  await closing;
});

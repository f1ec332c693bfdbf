import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { keyList } from '#contracts/billing/keys.js';
import { panelInvite } from '#contracts/panel.js';
import type { Messaging } from '#messaging/messaging.js';
import { type RunningStack, startPrivateStack } from '#testing/stack.js';
import { connectAdministrator, createTenant, type Tenant } from '#testing/tenant.js';

/** Attacks of one signed-in person on what all people of the panel share, while others work. */

const PASSWORD = 'a quiet orange river';
const JSON_TYPE = { 'content-type': 'application/json' };

interface Person {
  email: string;
  cookie: string;
}

let stack: RunningStack;
let administrator: Messaging;
let tenant: Tenant;
let attacker: Person;
let victim: Person;
let sockets: Socket[];

beforeAll(async () => {
  stack = await startPrivateStack({ services: ['billing', 'catalog', 'upstream-sim', 'inference-proxy', 'gateway', 'panel'] });
  administrator = await connectAdministrator(stack);
  tenant = await createTenant(administrator);
  victim = await person('admin');
});
beforeEach(async () => {
  sockets = [];
  attacker = await person('developer', tenant.accountId);
});
afterEach(() => {
  for (const socket of sockets) socket.destroy();
});
afterAll(async () => {
  await administrator?.close();
  await stack?.stop();
});

async function person(role: 'admin' | 'developer', accountId?: string): Promise<Person> {
  const email = `${randomUUID()}@example.com`;
  const { link } = await administrator.request(panelInvite, { role, accountId, email });
  const accepted = await send('POST', '/invites/accept', undefined, { token: link.replace(/^.*#/, ''), password: PASSWORD });
  return { email, cookie: String(accepted.headers.get('set-cookie')).split(';')[0] ?? '' };
}

function send(method: string, path: string, cookie: string | undefined, body: object): Promise<Response> {
  const headers = { ...JSON_TYPE, origin: stack.panelUrl, ...(cookie && { cookie }) };
  return fetch(`${stack.panelUrl}/panel/v1${path}`, { method, headers, body: JSON.stringify(body) });
}

/** Sends the head of a request, and a few bytes of a body that never ends. Returns the status of its answer. */
async function unfinished(path: string, cookie: string): Promise<number> {
  const { hostname, port } = new URL(stack.panelUrl);
  const socket = connect({ host: hostname, port: Number(port) });
  sockets.push(socket.on('error', () => undefined));
  const head = [`PATCH /panel/v1${path} HTTP/1.1`, `host: ${hostname}`, `origin: ${stack.panelUrl}`, `cookie: ${cookie}`];
  socket.write(`${[...head, 'content-type: application/json', 'transfer-encoding: chunked'].join('\r\n')}\r\n\r\n3\r\n{"a\r\n`);
  const [answer] = (await once(socket, 'data')) as [Buffer];
  return Number(answer.toString().split(' ')[1]);
}

test('64 unfinished bodies of one person leave sign-ins, confirmations and changes of others alone, and are ended [sec-panel-shares]', async () => {
  const attack = Array.from({ length: 64 }, () => unfinished('/me', attacker.cookie));
  await delay(500); // until the panel reads the bodies
  const served = [
    await send('POST', '/session', undefined, { email: victim.email, password: PASSWORD }),
    await send('POST', '/session/confirm', (await person('admin')).cookie, { password: PASSWORD }),
    await send('POST', '/accounts', victim.cookie, { name: 'New' }),
  ];
  expect(served.map(({ status }) => status)).toEqual([201, 200, 201]);
  expect(await Promise.all(attack)).toEqual(Array.from({ length: 64 }, () => 408));
});

/** Opens a stream of live requests. Returns its reply when the head is there. */
async function live(account: string, cookie: string): Promise<IncomingMessage> {
  const opened = get(`${stack.panelUrl}/panel/v1/accounts/${account}/live`, { headers: { cookie }, agent: false });
  opened.on('socket', (socket) => sockets.push(socket)).on('error', () => undefined);
  const [reply] = (await once(opened, 'response')) as [IncomingMessage];
  return reply.resume().on('error', () => undefined);
}

test('500 live streams of one person leave room for the page of another [sec-panel-shares]', async () => {
  const opened: IncomingMessage[] = [];
  for (let count = 0; count < 500; count += 50)
    opened.push(...(await Promise.all(Array.from({ length: 50 }, () => live(tenant.accountId, attacker.cookie)))));
  const reply = await live('all', victim.cookie);
  expect(reply.statusCode).toBe(200);
  expect(opened.filter(({ statusCode, readableEnded }) => statusCode === 200 && !readableEnded).length).toBeLessThanOrEqual(6);
});

const play = (cookie: string, request: object) => send('POST', '/playground', cookie, { projectId: tenant.projectId, request });

test('60 playground requests without a content make no key, those that the gateway refuses share one, and another person plays [sec-panel-shares]', async () => {
  const empty = [];
  for (let count = 0; count < 60; count++) empty.push((await play(attacker.cookie, {})).status);
  const unknown = { model: 'unknown', messages: [{ role: 'user', content: 'Hello' }] };
  const refused = (await play(attacker.cookie, unknown)).status;
  const other = await person('developer', tenant.accountId);
  const reply = await play(other.cookie, { ...unknown, model: 'sim-fast', max_tokens: 5 });
  expect([...new Set(empty), refused, reply.status, (await reply.text()).endsWith('data: [DONE]\n\n')]).toEqual([400, 404, 200, true]);
  const { keys } = await administrator.request(keyList, { projectId: tenant.projectId });
  const played = keys.filter(({ name }) => name?.startsWith('Playground of ')).map(({ name, status }) => [name, status]);
  expect(played).toEqual([
    [`Playground of ${attacker.email}`, 'active'],
    [`Playground of ${other.email}`, 'active'],
  ]);
});

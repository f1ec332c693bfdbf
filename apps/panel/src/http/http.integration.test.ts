import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { jest } from '@jest/globals';
import request, { type Response } from 'supertest';
import { PanelFixture } from '../../test/panel-fixture.js';

const panel = await PanelFixture.open();
const admin = await panel.person('admin');
afterAll(() => panel.close());

const http = () => request(panel.app.getHttpServer());
const error = (code: string, param: string | null = null) => ({
  error: { message: expect.any(String), type: expect.any(String), param, code },
});

test.each([
  ['no JSON', { 'content-type': 'application/json' }, '{"name":', 400, error('invalid_json')],
  ['another type', { 'content-type': 'text/plain' }, '{"name":"x"}', 400, error('invalid_request')],
  ['no object', { 'content-type': 'application/json' }, '[1]', 400, error('invalid_request')],
  ['a wrong field', { 'content-type': 'application/json' }, '{"name":7}', 400, error('invalid_request', 'name')],
  ['too much', { 'content-type': 'application/json' }, JSON.stringify('x'.repeat(1024 * 1024)), 413, error('request_too_large')],
])('a body with %s is refused', async (_name, headers, body, status, expected) => {
  const reply = await http()
    .patch('/panel/v1/me')
    .set({ ...headers, origin: 'http://127.0.0.1:8081', cookie: admin.cookie })
    .send(body);
  expect([reply.status, reply.body]).toEqual([status, expected]);
});

test('a refused request is not read', async () => {
  const body = JSON.stringify('x'.repeat(1024 * 1024));
  const reply = await http().patch('/panel/v1/me').set({ 'content-type': 'application/json' }).send(body);
  expect([reply.status, reply.headers.connection]).toEqual([401, 'close']);
});

test('an unknown path is 404 in the form of all errors', async () => {
  const reply = await panel.send('/nothing', { cookie: admin.cookie });
  expect([reply.status, reply.body]).toEqual([404, error('not_found')]);
  expect((await panel.send('/me', { method: 'POST', cookie: admin.cookie })).status).toBe(404);
});

test('replies of the API are not cached, and no other origin may read them', async () => {
  const { headers } = await panel.send('/me', { cookie: admin.cookie });
  expect(headers).toMatchObject({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' });
  expect(headers['access-control-allow-origin']).toBeUndefined();
  expect(headers['x-powered-by']).toBeUndefined();
});

test('a failure names the request id and nothing else, and the log has the cause', async () => {
  const find = jest.spyOn(panel.prisma.panelUser, 'findUniqueOrThrow').mockRejectedValueOnce(new Error('the table is gone') as never);
  const reply = await panel.send('/me', { cookie: admin.cookie });
  find.mockRestore();
  expect([reply.status, reply.body]).toEqual([500, error('internal_error')]);
  expect(reply.text).not.toContain('the table is gone');
  expect(panel.log).toContainEqual(
    expect.objectContaining({ requestId: reply.headers['x-request-id'], err: expect.objectContaining({ message: 'the table is gone' }) }),
  );
});

/** Begins a request to the panel. Returns its socket. */
async function begin(head: readonly string[], body: string): Promise<Socket> {
  const { port } = panel.app.getHttpServer().address() as AddressInfo;
  const socket = connect({ port, host: '127.0.0.1' });
  await once(socket, 'connect');
  socket.write(`${[...head, 'host: x', 'origin: http://127.0.0.1:8081', `cookie: ${admin.cookie}`].join('\r\n')}\r\n\r\n${body}`);
  return socket;
}

test('a client that leaves before its request is complete is no error: status 499, and one line [sec-client-abort]', async () => {
  const before = panel.log.length;
  const socket = await begin(['PATCH /panel/v1/me HTTP/1.1', 'transfer-encoding: chunked'], '3\r\n{"a\r\n');
  await delay(200); // until the panel reads the body
  socket.destroy();
  while (!panel.log.slice(before).some(({ msg }) => msg === 'request')) await delay(5);
  const lines = panel.log.slice(before).map(({ level, msg, path, status }) => ({ level, msg, path, status }));
  expect(lines).toEqual([{ level: 30, msg: 'request', path: '/panel/v1/me', status: 499 }]);
});

test('a person over the rate gets 429 with Retry-After, before their session is looked up [sec-panel-shares]', async () => {
  const limited = await PanelFixture.open({ personRequestsPerSecond: 1 });
  const person = await limited.person('viewer', randomUUID());
  const statuses: number[] = [];
  let last: Response | undefined;
  while (last?.status !== 429 && statuses.length < 20) {
    last = await limited.send('/me', { cookie: person.cookie });
    statuses.push(last.status);
  }
  const other = await limited.send('/me', { cookie: (await limited.person('viewer', randomUUID())).cookie });
  expect({ served: statuses.length >= 6, last: [last?.status, last?.headers['retry-after'], last?.body], other: other.status }).toEqual({
    served: true,
    last: [429, '1', error('rate_limit_exceeded')],
    other: 200,
  });
  await limited.close();
});

test('the log names the caller and the path, without query, cookie and token', async () => {
  await panel.send('/members?accountId=0190a6f0-7c1e-7000-8000-000000000001', { cookie: admin.cookie });
  const line = panel.log.findLast(({ msg }) => msg === 'request');
  expect(line).toMatchObject({
    method: 'GET',
    path: '/panel/v1/members',
    status: 200,
    actor: `user/${admin.userId}`,
    clientAddress: '127.0.0.1',
  });
  expect(JSON.stringify(panel.log)).not.toMatch(/0190a6f0|tollgate=/);
});

test('without built pages /panel/ says how to build them, under the policy of the pages', async () => {
  const reply = await http().get('/panel/keys/1');
  expect([reply.status, reply.text]).toEqual([200, expect.stringContaining('npm run build')]);
  expect(reply.headers['content-security-policy']).toBe(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; " +
      "frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'",
  );
  expect((await http().get('/')).headers.location).toBe('/panel/');
});

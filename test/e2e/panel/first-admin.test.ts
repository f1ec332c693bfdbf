import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { type RunningStack, startPrivateStack } from '#testing/stack.js';

/** The way from the link of the operator to the first admin and on, with plain HTTP as curl sends it. */

const run = promisify(execFile);
const PASSWORD = 'a quiet orange river';

let stack: RunningStack;
beforeAll(async () => {
  stack = await startPrivateStack({ layout: 'all', services: ['billing', 'catalog', 'panel'] });
});
afterAll(() => stack?.stop());

/** Runs a command of the operator. */
async function tollgate(...words: string[]): Promise<Record<string, unknown>> {
  const env = { ...process.env, NATS_URL: stack.natsUrl, NATS_CLI_PASSWORD: stack.natsPasswords.cli, NODE_OPTIONS: '' };
  const { stdout } = await run(process.execPath, ['dist/apps/cli/bundle/tollgate.cjs', ...words, '--json'], { env });
  return JSON.parse(stdout) as Record<string, unknown>;
}

interface Answer {
  status: number;
  code: string | undefined;
  body: Record<string, unknown>;
  /** `set-cookie` of the reply. */
  cookie: string | null;
}

async function ask(method: string, path: string, { body, ...headers }: { body?: object } & Record<string, unknown> = {}): Promise<Answer> {
  const reply = await fetch(`${stack.panelUrl}/panel/v1${path}`, {
    method,
    headers: { ...(body && { 'content-type': 'application/json' }), ...(headers as Record<string, string>) },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await reply.text();
  const parsed = text === '' ? {} : (JSON.parse(text) as Record<string, unknown> & { error?: { code: string } });
  return { status: reply.status, code: parsed.error?.code, body: parsed, cookie: reply.headers.get('set-cookie') };
}

test('the link makes an admin once; the admin signs in, out, and is locked out by the operator', async () => {
  expect(await tollgate('panel', 'users')).toEqual({ users: [], nextCursor: null });
  const link = new URL(String((await tollgate('panel', 'invite', '--admin')).link));
  expect([link.origin, link.pathname]).toEqual([stack.panelUrl, '/panel/welcome']);
  const invite = { token: link.hash.slice(1), email: 'ada@example.com', password: PASSWORD };
  const accepted = await ask('POST', '/invites/accept', { body: invite });
  expect([accepted.status, accepted.body.grants]).toEqual([201, [expect.objectContaining({ accountId: null, role: 'admin' })]]);
  expect((await ask('POST', '/invites/accept', { body: invite })).code).toBe('not_found');

  // With a cookie, an unsafe request names its origin, as every browser does.
  const origin = stack.panelUrl;
  const signedIn = await ask('POST', '/session', { body: { email: 'ada@example.com', password: PASSWORD } });
  const cookie = String(signedIn.cookie).split(';')[0];
  expect((await ask('GET', '/me', { cookie })).body.email).toBe('ada@example.com');
  expect((await ask('DELETE', '/session', { cookie })).code).toBe('origin_not_allowed');
  expect((await ask('DELETE', '/session', { cookie, origin })).status).toBe(204);
  const after = await ask('GET', '/me', { cookie });
  expect([after.code, after.cookie]).toEqual(['authentication_required', expect.stringMatching(/^tollgate=; Max-Age=0;/)]);

  const other = String(accepted.cookie).split(';')[0];
  expect((await ask('GET', '/me', { cookie: other })).status).toBe(200);
  expect((await tollgate('panel', 'end-sessions', 'ada@example.com')).sessionsEnded).toBe(1);
  expect((await ask('GET', '/me', { cookie: other })).code).toBe('authentication_required');
  await expect(tollgate('panel', 'disable', 'ada@example.com')).rejects.toThrow('This is the last admin.');
});

test('a request of a foreign page is refused, with and without a session', async () => {
  const origin = 'https://evil.example';
  expect((await ask('GET', '/me', { origin })).code).toBe('origin_not_allowed');
  expect((await ask('POST', '/session', { origin, body: { email: 'a@example.com', password: PASSWORD } })).code).toBe('origin_not_allowed');
  expect((await ask('GET', '/me', { 'sec-fetch-site': 'cross-site' })).code).toBe('origin_not_allowed');
});

test('the pages and the API are ready without a session, and say so', async () => {
  const page = await fetch(`${stack.panelUrl}/panel/`);
  expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  expect((await ask('GET', '/me')).code).toBe('authentication_required');
  expect((await fetch(`${stack.opsUrls.panel}/readyz`)).status).toBe(200);
});

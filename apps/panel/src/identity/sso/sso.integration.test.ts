import { createHmac } from 'node:crypto';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PANEL_URL, PASSWORD } from '../../../test/panel-fixture.js';
import { readFailure, readSession, SsoFixture } from '../../../test/sso-fixture.js';
import { CLIENT_SECRET, close, listen } from '../../../test/test-provider.js';

let misbehave: { status: number; headers?: Record<string, string>; body?: object };

/** A server in place of a provider, which answers as `misbehave` says. */
const broken = await listen((_request, response) => {
  response.writeHead(misbehave.status, { 'content-type': 'application/json', ...misbehave.headers });
  response.end(JSON.stringify(misbehave.body ?? {}));
});
const others = { other: {}, broken: { issuer: serverAddress(broken) }, insecure: { issuer: serverAddress(broken) } };
const sso = await SsoFixture.open({ others });
const admin = await sso.panel.person('admin');
beforeEach(async () => {
  await sso.panel.sql.query('DELETE FROM panel.login_failure');
  sso.provider.subject = 'ada';
  sso.provider.claims = { email: admin.email, email_verified: true };
  sso.provider.authenticatedAt = undefined;
});
afterAll(async () => {
  await sso.close();
  await close(broken);
});

function serverAddress(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const refusals = async () => (await sso.panel.journal('session.refuse')).map(({ target, reason }) => ({ target, reason }));

test('the ways to sign in are public, and have no secret', async () => {
  const { status, body } = await sso.panel.send('/sso');
  const providers = [
    { name: 'acme', label: 'Acme' },
    { name: 'broken', label: 'broken' },
    { name: 'insecure', label: 'insecure' },
    { name: 'other', label: 'other' },
  ];
  expect([status, body]).toEqual([200, { passwords: true, providers }]);
});

test('the way to the provider has state, nonce and PKCE, and no secret', async () => {
  const { address } = await sso.start();
  const { code_challenge: challenge, state, nonce, ...query } = Object.fromEntries(address.searchParams);
  expect(query).toEqual({
    client_id: 'tollgate',
    response_type: 'code',
    redirect_uri: `${PANEL_URL}/panel/v1/sso/acme/callback`,
    scope: 'openid email profile',
    code_challenge_method: 'S256',
  });
  expect([challenge, state, nonce]).toEqual([challenge, state, nonce].map(() => expect.stringMatching(/^[\w-]{43}$/)));
});

test('signs in, and comes back to the page', async () => {
  const reply = await sso.signIn('?returnTo=/panel/a/all/usage%3Frange=7d');
  expect([reply.status, reply.headers.location]).toEqual([303, '/panel/a/all/usage?range=7d']);
  const me = await sso.panel.send('/me', { cookie: readSession(reply) });
  expect(me.body).toMatchObject({ userId: admin.userId, hasPassword: true });
  const cookies = reply.headers['set-cookie'] as unknown as string[];
  expect(cookies).toEqual([
    'tollgate-sso=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax',
    expect.stringMatching(/^tollgate=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/),
  ]);
});

describe('a sign-in that began elsewhere is refused:', () => {
  const expired = (page = '/panel/') => ({ page, failure: 'expired', session: false });

  test('without the cookie', async () => {
    const { address } = await sso.visit(await sso.start());
    expect(readFailure(await sso.arrive({ address, cookie: '' }))).toEqual(expired());
  });

  test('with the cookie of another sign-in', async () => {
    const { address } = await sso.visit(await sso.start());
    const { cookie } = await sso.start('?returnTo=/panel/profile');
    expect(readFailure(await sso.arrive({ address, cookie }))).toEqual(expired('/panel/profile'));
  });

  test('with another state', async () => {
    const back = await sso.visit(await sso.start());
    back.address.searchParams.set('state', 'x'.repeat(43));
    expect(readFailure(await sso.arrive(back))).toEqual(expired());
  });

  test('with another provider', async () => {
    const back = await sso.visit(await sso.start());
    back.address.pathname = back.address.pathname.replace('acme', 'other');
    expect(readFailure(await sso.arrive(back))).toEqual(expired());
  });
});

describe('an answer that is not for this sign-in is refused:', () => {
  test('another nonce', async () => {
    const underway = await sso.start();
    underway.address.searchParams.set('nonce', 'x'.repeat(43));
    expect(readFailure(await sso.arrive(await sso.visit(underway)))).toMatchObject({ failure: 'refused', session: false });
    expect((await refusals()).at(-1)).toEqual({ target: 'user/unknown', reason: 'acme: OAUTH_JWT_CLAIM_COMPARISON_FAILED' });
  });

  test('another PKCE challenge', async () => {
    const underway = await sso.start();
    underway.address.searchParams.set('code_challenge', createHmac('sha256', 'x').update('x').digest('base64url'));
    expect(readFailure(await sso.arrive(await sso.visit(underway)))).toMatchObject({ failure: 'refused', session: false });
  });

  test('a code that was used', async () => {
    const back = await sso.visit(await sso.start());
    expect((await sso.arrive(back)).headers.location).toBe('/panel/');
    expect(readFailure(await sso.arrive(back))).toMatchObject({ failure: 'refused', session: false });
    expect((await refusals()).at(-1)?.reason).toBe('acme: OAUTH_RESPONSE_BODY_ERROR invalid_grant');
  });
});

test('a text of the provider is neither shown nor logged', async () => {
  const { address, cookie } = await sso.start();
  const state = address.searchParams.get('state') ?? '';
  const query = new URLSearchParams({
    state,
    error: 'access_denied',
    error_description: 'words of the provider',
    iss: sso.provider.issuer,
  });
  const reply = await sso.arrive({ address: new URL(`${PANEL_URL}/panel/v1/sso/acme/callback?${query}`), cookie });
  expect(readFailure(reply)).toEqual({ page: '/panel/', failure: 'refused', session: false });
  expect(sso.panel.log.findLast(({ msg }) => msg === 'sign-in with a provider failed')).toMatchObject({
    requestId: reply.headers['x-request-id'],
    provider: 'acme',
    failure: 'refused',
    reason: 'OAUTH_AUTHORIZATION_RESPONSE_ERROR access_denied',
  });
  expect(JSON.stringify([reply.headers, sso.panel.log, await refusals()])).not.toContain('words of the provider');
});

test.each<[name: string, answer: typeof misbehave]>([
  ['fails', { status: 500, body: { error: 'words of the provider' } }],
  ['redirects', { status: 302, headers: { location: 'http://127.0.0.1:1/' } }],
  ['says that it is another one', { status: 200, body: { issuer: 'https://id.example.com' } }],
])('a provider that %s leads back to the page', async (_name, answer) => {
  misbehave = answer;
  const reply = await sso.panel.send('/sso/broken/start?returnTo=/panel/profile');
  expect(readFailure(reply)).toEqual({ page: '/panel/profile', failure: 'unavailable', session: false });
  expect(JSON.stringify(sso.panel.log)).not.toContain('words of the provider');
});

test('a provider that names an address without https leads no browser there', async () => {
  const issuer = serverAddress(broken);
  misbehave = { status: 200, body: { issuer, authorization_endpoint: 'http://id.example.com/auth', token_endpoint: `${issuer}/token` } };
  expect(readFailure(await sso.panel.send('/sso/insecure/start'))).toMatchObject({ failure: 'unavailable' });
});

test('a failed discovery is repeated by the next sign-in', async () => {
  misbehave = { status: 500 };
  expect(readFailure(await sso.panel.send('/sso/broken/start'))).toMatchObject({ failure: 'unavailable' });
  const issuer = serverAddress(broken);
  misbehave = { status: 200, body: { issuer, authorization_endpoint: `${issuer}/auth` } };
  expect((await sso.start('', 'broken')).address.origin).toBe(issuer);
});

test('an unknown provider is 404', async () => {
  const replies = [await sso.panel.send('/sso/unknown/start'), await sso.panel.send('/sso/unknown/callback')];
  expect(replies.map(({ status, body }) => [status, body.error.code])).toEqual(replies.map(() => [404, 'not_found']));
});

test('pages of other sites that lead browsers to the callback count nothing and write nothing [sec-lockout]', async () => {
  const written = async () => [await sso.panel.prisma.panelAudit.count(), await sso.panel.prisma.panelLoginFailure.count()];
  const before = await written();
  const callback = { address: new URL(`${PANEL_URL}/panel/v1/sso/acme/callback?code=x&state=x`), cookie: '' };
  for (let image = 0; image < 60; image++) expect(readFailure(await sso.arrive(callback)).failure).toBe('expired');
  expect(await written()).toEqual(before);
  const signIn = await sso.panel.send('/session', { method: 'POST', body: { email: admin.email, password: PASSWORD } });
  expect(signIn.status).toBe(201);
});

test('log, journal and tables have no secret and no code', async () => {
  const back = await sso.visit(await sso.start());
  const session = readSession(await sso.arrive(back));
  const secrets = [
    CLIENT_SECRET,
    back.address.searchParams.get('code'),
    session.replace('tollgate=', ''),
    back.cookie.replace(/^.*=/, '').slice(0, 43),
  ];
  const tables = await Promise.all(
    ['audit', 'identity', 'session', 'login_failure'].map((table) => sso.panel.sql.query(`SELECT t::text FROM panel.${table} t`)),
  );
  const written = JSON.stringify([sso.panel.log, tables.map(({ rows }) => rows)]);
  expect(secrets.filter((secret) => secret === null || secret === '' || written.includes(secret))).toEqual([]);
});

test('a provider that is gone leads back to the page', async () => {
  const underway = await sso.start('?returnTo=/panel/profile');
  const back = await sso.visit(underway);
  await sso.provider.stop();
  expect(readFailure(await sso.arrive(back))).toEqual({ page: '/panel/profile', failure: 'unavailable', session: false });
  expect((await refusals()).at(-1)).toEqual({
    target: 'user/unknown',
    reason: expect.stringMatching(/^acme: (ECONNREFUSED|ECONNRESET|UND_ERR_\w+)$/),
  });
});

test('fifty failures of an address are enough', async () => {
  await sso.panel.sql.query('DELETE FROM panel.sign_in_address');
  await sso.panel.sql.query(
    `INSERT INTO panel.login_failure (id, email_digest, address, at)
     SELECT gen_random_uuid(), sha256(n::text::bytea), 'sso 127.0.0.1', clock_timestamp() FROM generate_series(1, 50) n`,
  );
  const { address, cookie } = await sso.start();
  const callback = new URL(`${PANEL_URL}/panel/v1/sso/acme/callback?code=x&state=${address.searchParams.get('state')}`);
  expect(readFailure(await sso.arrive({ address: callback, cookie })).failure).toBe('too-many');
});

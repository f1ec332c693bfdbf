import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import type { Response } from 'supertest';
import { OPERATOR, PASSWORD, readCookie, type SignedIn } from '../../../test/panel-fixture.js';
import { readSession, SsoFixture } from '../../../test/sso-fixture.js';
import { Passwords } from '../passwords.js';
import { Sessions } from '../sessions.js';
import { Tokens } from '../tokens.js';

/** A request of an impostor is in flight while the person comes, or while the operator ends what the impostor holds. */

const ACCOUNT = randomUUID();
const BOSS = 'boss@corp.example';

let sso: SsoFixture;
let impostor: SignedIn;
beforeEach(async () => {
  sso = await SsoFixture.open();
  const reply = await post('/invites/accept', { token: await sso.panel.invite('owner', ACCOUNT), email: BOSS, password: PASSWORD });
  impostor = { userId: reply.body.userId, email: BOSS, cookie: readCookie(reply) };
});
afterEach(async () => {
  jest.restoreAllMocks();
  await sso.close();
});

const post = (path: string, body: object, cookie?: string) => sso.panel.send(path, { method: 'POST', body, cookie });
const readCode = ({ status, body }: Response) => body.error?.code ?? status;
const makeToken = async () => {
  const body = { name: 'x', accountId: ACCOUNT, permissions: ['usage.read'], expiresAt: new Date(Date.now() + 86_400_000).toISOString() };
  return post('/tokens', body, impostor.cookie);
};
const endAccess = (keepsTokens = false) => sso.panel.app.get(Sessions).endAccess(impostor.userId, keepsTokens, OPERATOR);
/** Counts the sessions, tokens and passwords that work in the name of the boss. */
const access = async () => ({
  sessions: await sso.panel.prisma.panelSession.count(),
  tokens: await sso.panel.prisma.panelToken.count({ where: { revokedAt: null } }),
  passwords: await sso.panel.prisma.panelUser.count({ where: { passwordHash: { not: null } } }),
});

/** Stops the requests that call a method, once it is `done` or before it begins. */
function hold<Name extends string>(target: Record<Name, (...args: never[]) => Promise<unknown>>, name: Name, where: 'before' | 'after') {
  const [reached, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const real = target[name];
  jest.spyOn(target, name as never).mockImplementation(async function (this: unknown, ...args: never[]) {
    const result = where === 'after' ? await real.apply(this, args) : undefined;
    reached.resolve();
    await gate.promise;
    return where === 'after' ? result : real.apply(this, args);
  } as never);
  return { reached: reached.promise, release: gate.resolve };
}

test.each<[string, () => Promise<Response>]>([
  ['a sign-in', () => post('/session', { email: BOSS, password: PASSWORD })],
  ['a confirmation', () => post('/session/confirm', { password: PASSWORD }, impostor.cookie)],
  [
    'a change of the password',
    () => {
      const body = { password: 'a loud purple mountain', currentPassword: PASSWORD };
      return sso.panel.send('/me', { method: 'PATCH', body, cookie: impostor.cookie });
    },
  ],
  [
    'an invite that is accepted',
    async () => post('/invites/accept', { token: await sso.panel.invite('viewer', randomUUID()), email: BOSS, password: PASSWORD }),
  ],
])('%s is refused when the person comes for the first time while its password is checked [sec-first-link]', async (_name, ask) => {
  const { reached, release } = hold(Passwords.prototype, 'verify', 'after');
  const asked = ask().then(readCode);
  await reached;
  sso.provider.claims = { email: BOSS, email_verified: true };
  readSession(await sso.signIn());
  release();
  expect(await asked).toBe('invalid_credentials');
  expect(await access()).toEqual({ sessions: 1, tokens: 0, passwords: 0 });
});

test("a sign-in with the old password is refused when the person's own change of it comes first [sec-first-link]", async () => {
  const { reached, release } = hold(Passwords.prototype, 'verify', 'after');
  const asked = post('/session', { email: BOSS, password: PASSWORD }).then(readCode);
  await reached;
  jest.restoreAllMocks();
  const body = { password: 'a loud purple mountain', currentPassword: PASSWORD };
  expect((await sso.panel.send('/me', { method: 'PATCH', body, cookie: impostor.cookie })).status).toBe(200);
  release();
  expect(await asked).toBe('invalid_credentials');
  expect(await access()).toEqual({ sessions: 1, tokens: 0, passwords: 1 });
});

test('a token whose session ends before it is made is refused [sec-first-link]', async () => {
  const { reached, release } = hold(Tokens.prototype, 'create', 'before');
  const asked = makeToken().then(readCode);
  await reached;
  expect(await endAccess()).toEqual({ sessionsEnded: 1, tokensEnded: 0 });
  release();
  expect(await asked).toBe('authentication_required');
  expect(await access()).toEqual({ sessions: 0, tokens: 0, passwords: 1 });
});

test.each<[string, () => Promise<Response>, boolean, object]>([
  ['sign-in', () => post('/session', { email: BOSS, password: PASSWORD }), true, { sessionsEnded: 2, tokensEnded: 0 }],
  ['token', makeToken, false, { sessionsEnded: 1, tokensEnded: 1 }],
])('a %s that is about to commit while sessions and tokens end is ended too [sec-first-link]', async (_name, ask, keepsTokens, ended) => {
  await sso.panel.sql.query('BEGIN; SELECT FROM panel.audit_head FOR UPDATE');
  const asked = ask().then(readCode);
  await waiting(1);
  const ending = endAccess(keepsTokens);
  await waiting(2);
  await sso.panel.sql.query('COMMIT');
  expect(await asked).toBe(201);
  expect(await ending).toEqual(ended);
  expect(await access()).toEqual({ sessions: 0, tokens: 0, passwords: 1 });
});

/** Resolves when so many transactions wait for a lock. */
async function waiting(count: number): Promise<void> {
  // On a connection without a transaction: inside one, the view does not change.
  const query = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
  while ((await sso.panel.prisma.$queryRawUnsafe<unknown[]>(query)).length !== count);
}

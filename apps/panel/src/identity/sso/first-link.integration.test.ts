import { randomUUID } from 'node:crypto';
import { PASSWORD, readCookie, type SignedIn } from '../../../test/panel-fixture.js';
import { readSession, SsoFixture } from '../../../test/sso-fixture.js';

/** An attacker has used a person's e-mail before the person signs in with a provider. */

const ACCOUNT = randomUUID();
const BOSS = 'boss@corp.example';

let sso: SsoFixture;
beforeEach(async () => {
  sso = await SsoFixture.open({ provider: { groupRoles: `platform-admins=admin,team=owner:${ACCOUNT}` } });
});
afterEach(() => sso.close());

const readCode = ({ status, body }: { status: number; body: { error?: { code: string } } }) => body.error?.code ?? status;
const post = (path: string, body: object, cookie?: string) => sso.panel.send(path, { method: 'POST', body, cookie });
const signIn = () => post('/session', { email: BOSS, password: PASSWORD });
/** The boss comes from the provider. Returns their roles. */
async function arrive(groups: string[]): Promise<unknown[]> {
  sso.provider.claims = { email: BOSS, email_verified: true, groups };
  const cookie = readSession(await sso.signIn());
  const me = (await sso.panel.send('/me', { cookie })).body;
  expect(me.email).toBe(BOSS);
  return me.grants.map(({ accountId, role }: { accountId: string | null; role: string }) => [accountId, role]);
}

/** Makes a person with a password through a link of the operator that names no e-mail: the person who opens it types one. */
async function impersonate(): Promise<SignedIn> {
  const token = await sso.panel.invite('owner', ACCOUNT);
  const reply = await post('/invites/accept', { token, email: BOSS, password: PASSWORD });
  expect(reply.status).toBe(201);
  return { userId: reply.body.userId, email: BOSS, cookie: readCookie(reply) };
}

test('an owner who invites an address and opens the link makes no person; the sign-in with the provider does [sec-first-link]', async () => {
  const owner = await sso.panel.person('owner', ACCOUNT);
  const { link } = (await post('/invites', { email: BOSS, accountId: ACCOUNT, role: 'viewer' }, owner.cookie)).body;
  const token = link.replace(/^.*#/, '');
  expect((await post('/invites/show', { token })).body.password).toBe('sign-in');
  expect(readCode(await post('/invites/accept', { token, password: PASSWORD }))).toBe('invalid_credentials');
  expect(await sso.panel.prisma.panelUser.count({ where: { email: BOSS } })).toBe(0);
  expect(await arrive([])).toEqual([[ACCOUNT, 'viewer']]);
  expect(readCode(await signIn())).toBe('invalid_credentials');
});

test('who typed the e-mail of another loses password, sessions and tokens when that person comes [sec-first-link]', async () => {
  const impostor = await impersonate();
  const token = await sso.panel.token(impostor, ['usage.read'], ACCOUNT);
  expect(await arrive(['platform-admins'])).toContainEqual([null, 'admin']);
  const attempts = [
    await signIn(),
    await post('/topups', {}, impostor.cookie),
    await sso.panel.send('/me', { cookie: impostor.cookie }),
    await sso.panel.send('/members', { token }),
  ];
  expect(attempts.map(readCode)).toEqual(['invalid_credentials', 'not_found', 'authentication_required', 'authentication_required']);
  const by = { actor: `user/${impostor.userId}`, actorName: BOSS, via: 'http', accountId: null, before: null };
  expect(await sso.panel.journal('user.remove-password')).toEqual([
    {
      ...{ ...by, action: 'user.remove-password', target: `user/${impostor.userId}` },
      reason: 'the password was never proven to belong to the e-mail',
      after: { email: BOSS, sessionsEnded: 1, tokensEnded: 1, roles: [{ accountId: ACCOUNT, role: 'owner' }] },
    },
  ]);
});

test('a password of an earlier version is removed at the next sign-in of a person who is linked already [sec-first-link]', async () => {
  const token = await sso.panel.invite('owner', ACCOUNT, BOSS);
  expect((await post('/invites/accept', { token, password: PASSWORD })).status).toBe(201);
  await arrive([]);
  expect(readCode(await signIn())).toBe(201);
  await sso.panel.sql.query(`BEGIN; SELECT panel.record_audit('{"actor":"test"}', 'test', NULL, 'test', NULL, NULL, NULL);
    UPDATE panel."user" SET password_proven = false; COMMIT`);
  await arrive([]);
  expect(readCode(await signIn())).toBe('invalid_credentials');
});

test('a password that the person chose with a link to their e-mail stays, and so do their sessions and tokens', async () => {
  const boss = await sso.panel.person('owner', ACCOUNT);
  const token = await sso.panel.token(boss, ['usage.read'], ACCOUNT);
  sso.provider.claims = { email: boss.email, email_verified: true };
  readSession(await sso.signIn());
  expect((await post('/session', { email: boss.email, password: PASSWORD })).status).toBe(201);
  expect((await sso.panel.send('/me', { cookie: boss.cookie })).status).toBe(200);
  expect(readCode(await sso.panel.send('/members', { token }))).toBe('permission_denied');
  expect(await sso.panel.journal('user.remove-password')).toEqual([]);
});

test('an invite does not take the place of a role that groups give', async () => {
  const owner = await sso.panel.person('owner', ACCOUNT);
  await post('/invites', { email: BOSS, accountId: ACCOUNT, role: 'viewer' }, owner.cookie);
  expect(await arrive(['team'])).toEqual([[ACCOUNT, 'owner']]);
});

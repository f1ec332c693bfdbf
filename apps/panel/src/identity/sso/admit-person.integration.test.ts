import { randomUUID } from 'node:crypto';
import { PASSWORD } from '../../../test/panel-fixture.js';
import { readFailure, readSession, SsoFixture } from '../../../test/sso-fixture.js';
import type { Me } from '../../shapes/identity.js';

const ACCOUNT = randomUUID();

let sso: SsoFixture;
beforeEach(async () => {
  sso = await SsoFixture.open({ provider: { groupRoles: `platform=admin,team=owner:${ACCOUNT},staff=viewer:${ACCOUNT}` } });
});
afterEach(() => sso.close());

/** Signs in a person of the provider. Returns who they are in the panel. */
async function signIn(claims: SsoFixture['provider']['claims'], subject = 'ada'): Promise<{ me: Me; cookie: string }> {
  Object.assign(sso.provider, { subject, claims: { email_verified: true, ...claims } });
  const cookie = readSession(await sso.signIn());
  return { me: (await sso.panel.send('/me', { cookie })).body, cookie };
}

/** The failure of a sign-in. */
async function refuse(claims: SsoFixture['provider']['claims'], subject = 'ada'): Promise<string | null> {
  Object.assign(sso.provider, { subject, claims: { email_verified: true, ...claims } });
  const { failure, session } = readFailure(await sso.signIn());
  expect(session).toBe(false);
  return failure;
}

const listRoles = ({ grants }: Me) => grants.map(({ accountId, role }) => [accountId, role]);
const status = async (cookie: string) => (await sso.panel.send('/me', { cookie })).status;
const actions = async () => (await sso.panel.prisma.panelAudit.findMany({ orderBy: { id: 'asc' } })).map(({ action }) => action);
const lastRefusal = async () => (await sso.panel.journal('session.refuse')).at(-1);

test('a person who exists is linked by the verified e-mail, once', async () => {
  const admin = await sso.panel.person('admin');
  const first = await signIn({ email: admin.email.toUpperCase(), name: 'Ada' });
  const second = await signIn({ email: 'new-name@example.com' });
  expect([first.me.userId, second.me.userId, second.me.email]).toEqual([admin.userId, admin.userId, admin.email]);
  const by = { actor: `user/${admin.userId}`, actorName: admin.email, via: 'http', accountId: null, reason: null, before: null };
  expect(await sso.panel.journal('identity.link')).toEqual([
    { ...by, action: 'identity.link', target: `user/${admin.userId}`, after: { issuer: sso.provider.issuer, subject: 'ada' } },
  ]);
  const started = { ...by, action: 'session.start', target: expect.stringMatching(/^session\//), after: { provider: 'acme' } };
  expect((await sso.panel.journal('session.start')).slice(-2)).toEqual([started, started]);
});

test.each([[false], [undefined], ['true']])('an e-mail with email_verified %j is refused', async (verified) => {
  const admin = await sso.panel.person('admin');
  expect(await refuse({ email: admin.email, email_verified: verified as boolean, groups: ['platform'] })).toBe('unverified');
  expect(await lastRefusal()).toMatchObject({ actor: 'anonymous', target: 'user/unknown', reason: 'acme: the e-mail is not verified' });
  expect(await sso.panel.prisma.panelIdentity.count()).toBe(0);
});

test('an unknown person is not admitted, and leaves nothing behind', async () => {
  expect(await refuse({ email: 'ada@example.com', groups: ['strangers'] })).toBe('no-access');
  expect([await sso.panel.prisma.panelUser.count(), await sso.panel.prisma.panelIdentity.count()]).toEqual([0, 0]);
});

test('a disabled person is not admitted', async () => {
  const [admin, ada] = [await sso.panel.person('admin'), await sso.panel.person('auditor')];
  await sso.panel.send(`/members/${ada.userId}`, { method: 'PATCH', cookie: admin.cookie, body: { disabled: true } });
  expect(await refuse({ email: ada.email })).toBe('no-access');
  expect(await lastRefusal()).toMatchObject({ target: `user/${ada.userId}`, reason: 'acme: the person is disabled' });
});

test('another subject with the e-mail of a linked person does not become that person', async () => {
  const admin = await sso.panel.person('admin');
  await signIn({ email: admin.email });
  expect(await refuse({ email: admin.email }, 'eve')).toBe('refused');
  expect(await lastRefusal()).toMatchObject({ target: `user/${admin.userId}` });
});

describe('an invite', () => {
  const invite = async (cookie: string, email: string, role: string, accountId?: string) => {
    const made = await sso.panel.send('/invites', { method: 'POST', cookie, body: { email, role, accountId } });
    expect(made.status).toBe(201);
    return made.body.link.replace(/^.*#/, '');
  };

  test('is accepted by the sign-in of its e-mail, which makes a person without a password', async () => {
    const owner = await sso.panel.person('owner', ACCOUNT);
    const token = await invite(owner.cookie, 'Ada@example.com', 'developer', ACCOUNT);
    const { me } = await signIn({ email: 'ada@example.com', name: 'Ada' });
    expect(me).toMatchObject({ email: 'ada@example.com', name: 'Ada', hasPassword: false });
    expect(listRoles(me)).toEqual([[ACCOUNT, 'developer']]);
    const show = await sso.panel.send('/invites/show', { method: 'POST', body: { token } });
    expect(show.status).toBe(404);
    const withPassword = await sso.panel.send('/session', { method: 'POST', body: { email: 'ada@example.com', password: PASSWORD } });
    expect(withPassword.body.error.code).toBe('invalid_credentials');
    expect((await actions()).slice(-5)).toEqual(['user.create', 'identity.link', 'invite.accept', 'session.start', 'session.refuse']);
  });

  test('of another e-mail gives nothing', async () => {
    const owner = await sso.panel.person('owner', ACCOUNT);
    await invite(owner.cookie, 'kim@example.com', 'developer', ACCOUNT);
    expect(await refuse({ email: 'ada@example.com' })).toBe('no-access');
  });

  test('that is over gives nothing', async () => {
    const owner = await sso.panel.person('owner', ACCOUNT);
    await invite(owner.cookie, 'ada@example.com', 'developer', ACCOUNT);
    await sso.panel.sql.query(`BEGIN; SELECT panel.record_audit('{"actor":"test"}', 'test', NULL, 'test', NULL, NULL, NULL);
      UPDATE panel.invite SET expires_at = now() WHERE accepted_at IS NULL; COMMIT`);
    expect(await refuse({ email: 'ada@example.com' })).toBe('no-access');
  });

  test('gives a further role to a person with a session, which ends', async () => {
    const [owner, ada] = [await sso.panel.person('owner', ACCOUNT), await sso.panel.person('auditor')];
    await invite(owner.cookie, ada.email, 'finance', ACCOUNT);
    const { me } = await signIn({ email: ada.email });
    expect(listRoles(me).sort()).toEqual(
      [
        [null, 'auditor'],
        [ACCOUNT, 'finance'],
      ].sort(),
    );
    expect(await status(ada.cookie)).toBe(401);
  });

  test('that would take the last admin from the platform stays open', async () => {
    const admin = await sso.panel.person('admin');
    await invite(admin.cookie, admin.email, 'auditor');
    expect(listRoles((await signIn({ email: admin.email })).me)).toEqual([[null, 'admin']]);
    expect((await sso.panel.send('/invites', { cookie: admin.cookie })).body.invites).toHaveLength(1);
  });
});

describe('groups', () => {
  const email = 'ada@example.com';

  test('give roles, in each scope that of the first in the settings', async () => {
    const { me } = await signIn({ email, groups: ['staff', 'team', 'platform', 'others'] });
    expect(listRoles(me).sort()).toEqual(
      [
        [null, 'admin'],
        [ACCOUNT, 'owner'],
      ].sort(),
    );
    const entries = (await sso.panel.journal('member.update')).map(({ reason, before, after }) => ({ reason, before, after }));
    expect(entries).toHaveLength(2);
    for (const role of ['admin', 'owner'])
      expect(entries).toContainEqual({ reason: 'groups of acme', before: { role: null }, after: { role } });
  });

  test('change the role at the next sign-in, which ends other sessions; the same groups change nothing', async () => {
    const first = await signIn({ email, groups: ['team'] });
    const second = await signIn({ email, groups: ['team'] });
    expect([await status(first.cookie), await status(second.cookie)]).toEqual([200, 200]);
    const third = await signIn({ email, groups: ['staff'] });
    expect(listRoles(third.me)).toEqual([[ACCOUNT, 'viewer']]);
    expect([await status(first.cookie), await status(third.cookie)]).toEqual([401, 200]);
  });

  test('take the role away at the next sign-in, also that of the last admin, and keep out a person without one', async () => {
    const { me, cookie } = await signIn({ email, groups: ['platform'] });
    expect(await refuse({ email, groups: [] })).toBe('no-access');
    expect(await sso.panel.prisma.panelGrant.count()).toBe(0);
    expect(await status(cookie)).toBe(401);
    expect((await sso.panel.journal('member.remove')).map(({ target, before }) => ({ target, before }))).toEqual([
      { target: `user/${me.userId}`, before: { role: 'admin' } },
    ]);
    expect(await lastRefusal()).toMatchObject({ target: `user/${me.userId}`, reason: 'acme: the person has no role' });
  });

  test('leave alone what a person gave', async () => {
    const admin = await sso.panel.person('admin');
    expect(listRoles((await signIn({ email: admin.email, groups: ['team'] })).me).sort()).toEqual(
      [
        [null, 'admin'],
        [ACCOUNT, 'owner'],
      ].sort(),
    );
    expect(listRoles((await signIn({ email: admin.email })).me)).toEqual([[null, 'admin']]);
  });

  test('no longer decide where an admin has given another role', async () => {
    const admin = await sso.panel.person('admin');
    const { me } = await signIn({ email, groups: ['staff'] });
    const body = { accountId: ACCOUNT, role: 'finance' };
    expect((await sso.panel.send(`/members/${me.userId}`, { method: 'PATCH', cookie: admin.cookie, body })).status).toBe(200);
    expect(listRoles((await signIn({ email, groups: ['staff'] })).me)).toEqual([[ACCOUNT, 'finance']]);
  });

  test.each([['team'], [['team', 7, null]]])('in the form %j are read', async (groups) => {
    expect(listRoles((await signIn({ email, groups })).me)).toEqual([[ACCOUNT, 'owner']]);
  });
});

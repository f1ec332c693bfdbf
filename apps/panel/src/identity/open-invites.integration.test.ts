import { randomUUID } from 'node:crypto';
import { OPERATOR, PASSWORD, readCookie, type SignedIn } from '../../test/panel-fixture.js';
import { readSession, SsoFixture } from '../../test/sso-fixture.js';
import { Invites } from './invites.js';
import { Members } from './members.js';
import { Sessions } from './sessions.js';

/** Open invites end with the right of their maker to make them. */

const ACCOUNT = randomUUID();
const OTHER = randomUUID();
const GUEST = 'guest@example.com';

let sso: SsoFixture;
beforeEach(async () => {
  sso = await SsoFixture.open({ provider: { groupRoles: `team=owner:${ACCOUNT},staff=viewer:${ACCOUNT}` } });
});
afterEach(() => sso.close());

const post = (path: string, body: object, cookie?: string) => sso.panel.send(path, { method: 'POST', body, cookie });
async function invite(by: SignedIn | { cookie: string }, accountId = ACCOUNT, email = GUEST): Promise<void> {
  expect((await post('/invites', { email, accountId, role: 'viewer' }, by.cookie)).status).toBe(201);
}
/** Returns the accounts that open invites are for. */
const open = async () => (await sso.panel.prisma.panelInvite.findMany({ where: { acceptedAt: null } })).map(({ accountId }) => accountId);
/** Gives a maker further open invites of the account, which end in the interval. */
async function addInvites({ userId }: SignedIn, number: number, end = '1 day'): Promise<void> {
  await sso.panel.change(`INSERT INTO panel.invite (id, digest, email, account_id, role, sets_password, invited_by, created_at, expires_at)
    SELECT gen_random_uuid(), sha256(convert_to('${end}' || n, 'UTF8')), 'p' || n || '@example.com', '${ACCOUNT}', 'viewer', false,
      'user/${userId}', now() - interval '2 days', now() + interval '${end}' FROM generate_series(1, ${number}) n`);
}
const reasons = async () => (await sso.panel.journal('invite.withdraw')).map(({ reason, before }) => [reason, before]);
const makeRow = (reason: string, userId: string) => [reason, { email: GUEST, role: 'viewer', invitedBy: `user/${userId}` }];

test('when all access of a person ends, so do the open invites that they made', async () => {
  const owner = await sso.panel.person('owner', ACCOUNT);
  await invite(owner);
  await sso.panel.app.get(Sessions).endAccess(owner.userId, false, OPERATOR);
  expect(await open()).toEqual([]);
  expect(await reasons()).toEqual([makeRow('all sessions were ended', owner.userId)]);
});

test('when a person is disabled, so do the open invites that they made', async () => {
  const owner = await sso.panel.person('owner', ACCOUNT);
  await invite(owner);
  await sso.panel.app.get(Members).setDisabled(owner.userId, true, OPERATOR);
  expect(await open()).toEqual([]);
  expect(await reasons()).toEqual([makeRow('its maker was disabled', owner.userId)]);
});

test('who may no longer invite people to an account loses the open invites there, and no others', async () => {
  const owner = await sso.panel.person('owner', ACCOUNT);
  await sso.panel.person('owner', ACCOUNT);
  const token = await sso.panel.invite('owner', OTHER);
  const { headers } = await post('/invites/accept', { token, email: owner.email, password: PASSWORD });
  const cookie = readCookie({ headers } as never);
  await invite({ cookie });
  await invite({ cookie }, OTHER);
  await sso.panel.app.get(Members).setRole(owner.userId, { accountId: ACCOUNT, projectId: null }, 'viewer', OPERATOR);
  expect(await open()).toEqual([OTHER]);
  expect(await reasons()).toEqual([makeRow('its maker may no longer invite people there', owner.userId)]);
});

test('an invite in flight loses against the loss of the right, also where the session stays', async () => {
  const owner = await sso.panel.person('owner', ACCOUNT);
  await sso.panel.person('owner', ACCOUNT);
  const caller = await sso.panel.app.get(Sessions).find(owner.cookie.replace('tollgate=', ''));
  await sso.panel.app.get(Members).setRole(owner.userId, { accountId: ACCOUNT, projectId: null }, 'viewer', OPERATOR, caller?.session?.id);
  const late = sso.panel.app
    .get(Invites)
    .create({ email: GUEST, accountId: ACCOUNT, role: 'viewer', setsPassword: false }, OPERATOR, caller);
  await expect(late).rejects.toMatchObject({ code: 'permission_denied' });
  expect(await open()).toEqual([]);
});

test('who loses the right with their groups loses the open invites', async () => {
  const arrive = async (group: string) => {
    sso.provider.claims = { email: 'ada@example.com', email_verified: true, groups: [group] };
    return readSession(await sso.signIn());
  };
  const cookie = await arrive('team');
  const { userId } = (await sso.panel.send('/me', { cookie })).body;
  await invite({ cookie });
  await arrive('staff');
  expect(await open()).toEqual([]);
  expect(await reasons()).toEqual([makeRow('its maker may no longer invite people there', userId)]);
});

test('an invite that an impostor made for the e-mail they typed ends when the person comes [sec-first-link]', async () => {
  const email = 'boss@corp.example';
  const reply = await post('/invites/accept', { token: await sso.panel.invite('owner', ACCOUNT), email, password: PASSWORD });
  await invite({ cookie: readCookie(reply) }, ACCOUNT, email);
  await invite({ cookie: readCookie(reply) });
  sso.provider.claims = { email, email_verified: true };
  const { grants } = (await sso.panel.send('/me', { cookie: readSession(await sso.signIn()) })).body;
  expect(grants).toMatchObject([{ accountId: ACCOUNT, role: 'owner' }]);
  expect(await open()).toEqual([]);
});

test('a person has at most 100 open invites: one more is refused, a replacement and the operator are not', async () => {
  const owner = await sso.panel.person('owner', ACCOUNT);
  await addInvites(owner, 99);
  await invite(owner);
  const { status, body } = await post('/invites', { email: 'other@example.com', accountId: ACCOUNT, role: 'viewer' }, owner.cookie);
  expect([status, body.error.code]).toEqual([409, 'conflict']);
  await invite(owner);
  await sso.panel.invite('viewer', ACCOUNT, 'other@example.com');
  expect(await open()).toHaveLength(101);
});

test('invites that are over do not count, and the next invite of their maker deletes them', async () => {
  const owner = await sso.panel.person('owner', ACCOUNT);
  await addInvites(owner, 200, '-1 second');
  await invite(owner);
  expect(await open()).toEqual([ACCOUNT]);
});

test('a withdrawal of more than 100 invites writes 100 rows and the number of the others', async () => {
  const owner = await sso.panel.person('owner', ACCOUNT);
  await addInvites(owner, 5_000);
  await addInvites(owner, 2, '-1 second');
  await sso.panel.app.get(Members).setDisabled(owner.userId, true, OPERATOR);
  expect(await open()).toHaveLength(2);
  const rows = await sso.panel.journal('invite.withdraw');
  expect(rows).toHaveLength(101);
  const before = { invites: 4_900, invitedBy: `user/${owner.userId}` };
  expect(rows.at(-1)).toMatchObject({ target: 'invite/others', accountId: null, reason: 'its maker was disabled', before });
});

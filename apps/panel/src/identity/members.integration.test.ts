import { randomUUID } from 'node:crypto';
import { PanelFixture, type SignedIn } from '../../test/panel-fixture.js';

const ACCOUNT = randomUUID();
const OTHER = randomUUID();

let panel: PanelFixture;
let admin: SignedIn;
let owner: SignedIn;
let stranger: SignedIn;
beforeEach(async () => {
  panel = await PanelFixture.open();
  admin = await panel.person('admin');
  owner = await panel.person('owner', ACCOUNT);
  stranger = await panel.person('owner', OTHER);
});
afterEach(() => panel.close());

const emails = async (cookie: string, query = '') => {
  const reply = await panel.send(`/members${query}`, { cookie });
  return reply.body.error?.code ?? reply.body.members.map(({ email }: { email: string }) => email);
};
const change = async (by: SignedIn, whom: SignedIn, body: object) => {
  const reply = await panel.send(`/members/${whom.userId}`, { method: 'PATCH', cookie: by.cookie, body });
  return reply.body.error?.code ?? reply.status;
};
const remove = async (by: SignedIn, whom: SignedIn, query: string) => {
  const reply = await panel.send(`/members/${whom.userId}${query}`, { method: 'DELETE', cookie: by.cookie });
  return reply.body.error?.code ?? reply.status;
};

test('each sees the people of their accounts', async () => {
  expect(await emails(admin.cookie)).toEqual([stranger.email, owner.email, admin.email]);
  expect(await emails(admin.cookie, `?accountId=${ACCOUNT}`)).toEqual([owner.email]);
  expect(await emails(owner.cookie)).toEqual([owner.email]);
  expect(await emails(owner.cookie, `?accountId=${OTHER}`)).toBe('not_found');
});

test('pages have no gap and no row twice', async () => {
  const first = await panel.send('/members?limit=2', { cookie: admin.cookie });
  const second = await panel.send(`/members?limit=2&cursor=${first.body.nextCursor}`, { cookie: admin.cookie });
  const seen = [...first.body.members, ...second.body.members].map(({ email }) => email);
  expect([seen, second.body.nextCursor]).toEqual([[stranger.email, owner.email, admin.email], null]);
});

test('a search by a part of an e-mail finds people of the own accounts alone', async () => {
  const part = stranger.email.slice(2, 20).toUpperCase();
  expect(await emails(admin.cookie, `?search=${encodeURIComponent(part)}`)).toEqual([stranger.email]);
  expect(await emails(owner.cookie, `?search=${encodeURIComponent(part)}`)).toEqual([]);
});

test('an owner changes roles in their account alone', async () => {
  const viewer = await panel.person('viewer', ACCOUNT);
  expect(await change(owner, viewer, { accountId: ACCOUNT, role: 'developer' })).toBe(200);
  expect(await change(owner, viewer, { accountId: OTHER, role: 'developer' })).toBe('not_found');
  expect(await change(owner, stranger, { accountId: ACCOUNT, role: 'developer' })).toBe('not_found');
  expect(await change(owner, viewer, { role: 'admin' })).toBe('permission_denied');
  expect(await change(owner, viewer, { disabled: true })).toBe('permission_denied');
  expect(await panel.journal('member.update')).toEqual([
    {
      ...{ actor: `user/${owner.userId}`, actorName: owner.email, via: 'http', action: 'member.update', accountId: ACCOUNT },
      ...{ target: `user/${viewer.userId}`, reason: null, before: { role: 'viewer' }, after: { role: 'developer' } },
    },
  ]);
});

test('the last owner of an account and the last admin keep their role', async () => {
  expect(await change(owner, owner, { accountId: ACCOUNT, role: 'viewer' })).toBe('conflict');
  expect(await remove(admin, owner, `?accountId=${ACCOUNT}`)).toBe('conflict');
  expect(await remove(admin, admin, '')).toBe('conflict');
  expect(await change(admin, admin, { disabled: true })).toBe('conflict');
});

test('two admins who remove each other at once: one stays', async () => {
  const second = await panel.person('admin');
  const outcomes = await Promise.all([remove(admin, second, ''), remove(second, admin, '')]);
  expect(outcomes.filter((outcome) => outcome === 204)).toHaveLength(1);
  expect(await panel.prisma.panelGrant.count({ where: { role: 'admin' } })).toBe(1);
});

test('a disabled admin does not count as the other one', async () => {
  const second = await panel.person('admin');
  expect(await change(admin, second, { disabled: true })).toBe(200);
  expect(await remove(admin, admin, '')).toBe('conflict');
  expect(await change(admin, second, { disabled: false })).toBe(200);
  expect(await remove(admin, admin, '')).toBe(204);
});

test('a person without a role keeps their session and can do nothing with it', async () => {
  const viewer = await panel.person('viewer', ACCOUNT);
  expect(await remove(owner, viewer, `?accountId=${ACCOUNT}`)).toBe(204);
  expect(await emails(viewer.cookie)).toBe('authentication_required');
  expect(await emails(await panel.session(viewer))).toBe('permission_denied');
});

test('an id that is no UUID belongs to no person', async () => {
  const reply = await panel.send('/members/../x', { method: 'PATCH', cookie: admin.cookie, body: { role: 'admin' } });
  expect(reply.status).toBe(404);
});

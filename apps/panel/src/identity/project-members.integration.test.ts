import { randomUUID } from 'node:crypto';
import { projectList } from '#contracts/billing/projects.js';
import { PASSWORD, PanelFixture, readCookie, type SignedIn } from '../../test/panel-fixture.js';
import type { Grant, Me, Role } from '../shapes/identity.js';

const [ACME, OTHER, WEB, JOBS, FOREIGN] = [randomUUID(), randomUUID(), randomUUID(), randomUUID(), randomUUID()];
const ACCOUNT_OF: Record<string, string> = { [WEB]: ACME, [JOBS]: ACME, [FOREIGN]: OTHER };

const panel = await PanelFixture.open();
const owner = await panel.person('owner', ACME);
const stranger = await panel.person('owner', OTHER);
const admin = await panel.person('admin');
afterAll(() => panel.close());
panel.messaging.answer(projectList, ({ projectId = '' }) => {
  const accountId = ACCOUNT_OF[projectId];
  return { projects: accountId === undefined ? [] : [{ projectId, accountId } as never], nextCursor: null };
});

let count = 0;
const invite = (by: SignedIn, body: object) =>
  panel.send('/invites', { method: 'POST', cookie: by.cookie, body: { email: `kim${++count}@example.com`, ...body } });
const accept = (link: string) =>
  panel.send('/invites/accept', { method: 'POST', body: { token: link.replace(/^.*#/, ''), password: PASSWORD } });
const listRoles = ({ grants }: Pick<Me, 'grants'>): unknown[] =>
  grants.map(({ accountId, projectId, role }: Grant) => [accountId, projectId, role]);
const set = (by: SignedIn, { userId }: SignedIn, place: object, role: Role) =>
  panel.send(`/members/${userId}`, { method: 'PATCH', cookie: by.cookie, body: { ...place, role } });
const remove = (by: SignedIn, { userId }: SignedIn, query: string) =>
  panel.send(`/members/${userId}?${query}`, { method: 'DELETE', cookie: by.cookie });

test('an invite to a project gives its role there alone, and the journal names the project', async () => {
  const place = { accountId: ACME, projectId: WEB };
  const made = await invite(owner, { ...place, role: 'project-viewer' });
  const shown = await panel.send('/invites/show', { method: 'POST', body: { token: made.body.link.replace(/^.*#/, '') } });
  const accepted = await accept(made.body.link);
  expect([made.status, made.body, shown.body]).toEqual([
    201,
    expect.objectContaining({ ...place, role: 'project-viewer' }),
    expect.objectContaining({ ...place, role: 'project-viewer' }),
  ]);
  expect([accepted.status, listRoles(accepted.body)]).toEqual([201, [[ACME, WEB, 'project-viewer']]]);
  const rows = [...(await panel.journal('invite.create')), ...(await panel.journal('invite.accept'))];
  expect(rows.filter(({ target }) => target === `invite/${made.body.inviteId}` || target === `user/${accepted.body.userId}`)).toEqual([
    expect.objectContaining({ accountId: ACME, after: { email: made.body.email, role: 'project-viewer', projectId: WEB } }),
    expect.objectContaining({
      accountId: ACME,
      before: { role: null, projectId: WEB },
      after: { invite: made.body.inviteId, role: 'project-viewer', projectId: WEB },
    }),
  ]);
});

test.each([
  ['a project of another account', { accountId: ACME, projectId: FOREIGN, role: 'project-viewer' }, 404],
  ['a project that is not there', { accountId: ACME, projectId: randomUUID(), role: 'project-viewer' }, 404],
  ['another account', { accountId: OTHER, projectId: FOREIGN, role: 'project-viewer' }, 404],
  ['no account', { projectId: WEB, role: 'project-viewer' }, 403],
  ['no project', { accountId: ACME, role: 'project-viewer' }, 400],
  ['a role of the account', { accountId: ACME, projectId: WEB, role: 'developer' }, 400],
  ['a role of the platform', { accountId: ACME, projectId: WEB, role: 'admin' }, 400],
])('an owner invites to no project with %s', async (_, body, status) => {
  expect((await invite(owner, body)).status).toBe(status);
});

test('an invite of the platform takes the account from the project', async () => {
  const { status, body } = await invite(admin, { projectId: WEB, role: 'project-member' });
  expect([status, body.accountId, body.projectId]).toEqual([201, ACME, WEB]);
});

test('a person may have a role in the account and in each of its projects, which are changed and removed one by one', async () => {
  const kim = await panel.person('viewer', ACME);
  const me = async (cookie: string): Promise<unknown[]> => listRoles((await panel.send('/me', { cookie })).body).sort();
  for (const projectId of [WEB, JOBS]) {
    const { body } = await panel.send('/invites', {
      method: 'POST',
      cookie: owner.cookie,
      body: { email: kim.email, accountId: ACME, projectId, role: 'project-viewer' },
    });
    kim.cookie = readCookie(await accept(body.link));
  }
  expect(await me(kim.cookie)).toEqual(
    [
      [ACME, null, 'viewer'],
      [ACME, WEB, 'project-viewer'],
      [ACME, JOBS, 'project-viewer'],
    ].sort(),
  );
  const changed = await set(owner, kim, { accountId: ACME, projectId: WEB }, 'project-developer');
  const removed = await remove(owner, kim, `accountId=${ACME}&projectId=${JOBS}`);
  const left = await remove(owner, kim, `accountId=${ACME}`);
  expect([changed.status, removed.status, left.status, await me(await panel.session(kim))]).toEqual([
    200,
    204,
    204,
    [[ACME, WEB, 'project-developer']],
  ]);
  const entries = [...(await panel.journal('member.update')), ...(await panel.journal('member.remove'))];
  expect(
    entries.filter(({ target }) => target === `user/${kim.userId}`).map(({ accountId, before, after }) => ({ accountId, before, after })),
  ).toEqual([
    {
      accountId: ACME,
      before: { role: 'project-viewer', projectId: WEB },
      after: { role: 'project-developer', projectId: WEB },
    },
    { accountId: ACME, before: { role: 'project-viewer', projectId: JOBS }, after: { role: null, projectId: JOBS } },
    { accountId: ACME, before: { role: 'viewer' }, after: { role: null } },
  ]);
});

test('a change of a role where the person has none, or to a role of another kind, is refused', async () => {
  const kim = await panel.person('project-viewer', ACME, WEB);
  const refused = [
    await set(owner, kim, { accountId: ACME, projectId: JOBS }, 'project-member'),
    await set(owner, kim, { accountId: ACME }, 'viewer'),
    await set(owner, kim, { accountId: ACME, projectId: WEB }, 'owner'),
    await set(stranger, kim, { accountId: ACME, projectId: WEB }, 'project-member'),
    await set(stranger, kim, { accountId: OTHER, projectId: WEB }, 'project-member'),
    await remove(stranger, kim, `accountId=${OTHER}&projectId=${WEB}`),
  ];
  expect(refused.map(({ status }) => status)).toEqual([404, 404, 400, 404, 404, 404]);
});

test('the members of an account are those of its projects too, to its owner alone', async () => {
  const kim = await panel.person('project-member', ACME, WEB);
  const find = async (by: SignedIn, accountId: string): Promise<unknown> => {
    const { body } = await panel.send(`/members?accountId=${accountId}&limit=200`, { cookie: by.cookie });
    const found = body.members?.find(({ userId }: { userId: string }) => userId === kim.userId);
    return found && listRoles(found);
  };
  expect([await find(owner, ACME), await find(stranger, OTHER)]).toEqual([[[ACME, WEB, 'project-member']], undefined]);
});

test.each([
  ['a role of an account in a project', `'${ACME}', '${WEB}', 'developer'`, 'grant_role_fits_scope'],
  ['a role of a project without one', `'${ACME}', NULL, 'project-viewer'`, 'grant_role_fits_scope'],
  ['a project without an account', `NULL, '${WEB}', 'admin'`, 'grant_role_fits_scope'],
  ['a second role in a place', `'${ACME}', '${WEB}', 'project-viewer'`, 'grant_user_id_place'],
])('the database refuses %s', async (_, values, constraint) => {
  const { userId } = await panel.person('project-viewer', ACME, WEB);
  const insert = `INSERT INTO panel.grant (id, user_id, account_id, project_id, role) VALUES (gen_random_uuid(), '${userId}', ${values})`;
  await expect(panel.change(insert)).rejects.toMatchObject({ constraint });
  await panel.sql.query('ROLLBACK');
});

import { randomUUID } from 'node:crypto';
import type { MemberApplyRequest, TenantMember } from '#contracts/tenant-members.js';
import { OPERATOR, PanelFixture, type SignedIn } from '../../test/panel-fixture.js';
import { TenantMembers } from './tenant-members.js';

/** People of an account as a tenants file names them. */
const ACCOUNT = randomUUID();
const WEB = randomUUID();
const PROJECTS = [{ projectId: WEB, name: 'web' }];
const FILE = { fileName: 'tenants.yaml', fileDigest: 'd'.repeat(64) };

let panel: PanelFixture;
let owner: SignedIn;
let viewer: SignedIn;
let stranger: SignedIn;
beforeEach(async () => {
  panel = await PanelFixture.open();
  owner = await panel.person('owner', ACCOUNT);
  viewer = await panel.person('viewer', ACCOUNT);
  stranger = await panel.person('owner', randomUUID());
});
afterEach(() => panel.close());

const members = () => panel.app.get(TenantMembers);
const plan = (wanted: readonly unknown[]) => members().plan(ACCOUNT, wanted, PROJECTS);
const apply = (wanted: TenantMember[], request: Partial<MemberApplyRequest> = {}) =>
  members().apply({ accountId: ACCOUNT, members: wanted, ...FILE, ...request }, PROJECTS, OPERATOR);
const roleIn = async ({ userId }: SignedIn) =>
  (await panel.prisma.panelGrant.findMany({ where: { userId, accountId: ACCOUNT } })).map(({ projectId, role }) => [projectId, role]);
const wanted = (): TenantMember[] => [
  { email: owner.email, role: 'owner' },
  { email: viewer.email, role: 'developer' },
  { email: stranger.email.toUpperCase(), role: 'project-member', project: 'web' },
  { email: 'new@example.com', role: 'finance' },
];

test('roles are changed and given, people who are unknown are invited, and a second apply changes nothing', async () => {
  const { changes, removals, faults } = await plan(wanted());
  expect({ changes, removals, faults }).toEqual({
    changes: [
      { action: 'change', kind: 'member', name: viewer.email, fields: [{ field: 'role', before: 'viewer', after: 'developer' }] },
      {
        action: 'create',
        kind: 'member',
        project: 'web',
        name: stranger.email,
        fields: [{ field: 'role', before: null, after: 'project-member' }],
      },
      { action: 'create', kind: 'member', name: 'new@example.com', fields: [{ field: 'invite', before: null, after: 'finance' }] },
    ],
    removals: [],
    faults: [],
  });
  const made = await apply(wanted());
  expect(made).toEqual({
    accountId: ACCOUNT,
    changes,
    invites: [{ email: 'new@example.com', link: expect.stringMatching(/\/panel\/welcome#.{43}$/), expiresAt: expect.any(String) }],
  });
  expect([await roleIn(viewer), await roleIn(stranger)]).toEqual([[[null, 'developer']], [[WEB, 'project-member']]]);
  const reason = `tenants.yaml sha256:${FILE.fileDigest}`;
  const rows = [...(await panel.journal('member.update')), ...(await panel.journal('invite.create'))];
  expect(rows.filter((row) => row.reason === reason).map(({ action, before, after }) => ({ action, before, after }))).toEqual([
    { action: 'member.update', before: { role: 'viewer' }, after: { role: 'developer' } },
    { action: 'member.update', before: { role: null, projectId: WEB }, after: { role: 'project-member', projectId: WEB } },
    { action: 'invite.create', before: null, after: { email: 'new@example.com', role: 'finance' } },
  ]);
  expect(await plan(wanted())).toEqual({ faults: [], changes: [], removals: [], notes: [] });
  expect(await apply(wanted(), { prune: true })).toEqual({ accountId: ACCOUNT, changes: [], invites: [] });
});

test('with prune, roles and open invites that the list does not have end; the last owner stays', async () => {
  await apply(wanted());
  const rest: TenantMember[] = [{ email: owner.email, role: 'owner' }];
  const { removals } = await plan(rest);
  expect(removals.map(({ name, project }) => [name, project])).toEqual(
    expect.arrayContaining([
      [viewer.email, undefined],
      [stranger.email, 'web'],
      ['new@example.com', undefined],
    ]),
  );
  expect((await apply(rest)).changes).toEqual([]);
  expect((await apply(rest, { prune: true })).changes).toEqual(removals);
  expect([await roleIn(owner), await roleIn(viewer), await roleIn(stranger)]).toEqual([[[null, 'owner']], [], []]);
  await expect(apply([], { prune: true })).rejects.toMatchObject({ code: 'conflict' });
  expect(await roleIn(owner)).toEqual([[null, 'owner']]);
});

test('another owner may take the place of the last one in one apply', async () => {
  await apply([{ email: viewer.email, role: 'owner' }], { prune: true });
  expect([await roleIn(owner), await roleIn(viewer)]).toEqual([[], [[null, 'owner']]]);
});

test('of a new account all are new', async () => {
  expect((await members().plan(undefined, wanted(), [])).changes.map(({ action, fields: [field] }) => [action, field?.field])).toEqual([
    ['create', 'role'],
    ['create', 'role'],
    ['create', 'role'],
    ['create', 'invite'],
  ]);
});

test('faults have their paths, and change nothing', async () => {
  expect((await plan([{ email: 'x', role: 'admin', team: 1 }, 'ada'])).faults).toEqual([
    { path: [0, 'team'], problem: 'is not a field' },
    { path: [0, 'role'], problem: expect.stringMatching(/^must be one of the following values: owner/) },
    { path: [1], problem: 'must be a group of fields' },
  ]);
  const contradicting: TenantMember[] = [
    { email: 'none', role: 'owner' },
    { email: 'a@example.com', role: 'project-viewer' },
    { email: 'a@example.com', role: 'owner', project: 'web' },
    { email: 'b@example.com', role: 'owner' },
    { email: 'B@example.com', role: 'viewer' },
  ];
  expect((await plan(contradicting)).faults).toEqual([
    { path: [0, 'email'], problem: 'must be an e-mail address' },
    { path: [1, 'role'], problem: 'is one of a project: add the project' },
    { path: [2, 'role'], problem: 'is one of the whole account: leave the project out' },
    { path: [4, 'email'], problem: 'is there twice' },
  ]);
  await expect(apply(contradicting)).rejects.toMatchObject({ code: 'invalid_request', param: 'members' });
  await expect(apply([{ email: 'a@example.com', role: 'project-viewer', project: 'other' }])).rejects.toMatchObject({ code: 'not_found' });
});

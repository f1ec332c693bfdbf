import { GROUP_ROLES, grantGroupRoles, parseGroupRoles } from './group-roles.js';

const ID = '0190a6f0-7c1e-7000-8000-00000000000a';
const PROJECT = '0190a6f0-7c1e-7000-8000-00000000000b';

test.each([
  'none',
  'admins=admin',
  `admins=admin,team-a=owner:${ID}`,
  `/platform/admins=auditor, Team A=viewer:${ID}`,
  `b=project-viewer:${ID}/${PROJECT}`,
])('the setting %j is accepted', (text) => expect(text).toMatch(GROUP_ROLES));

test.each([
  '',
  'admins',
  '=admin',
  'admins=root',
  'admins=owner',
  `admins=admin:${ID}`,
  'team=owner:1',
  'a=admin,',
  'a=b=admin',
  `a=project-viewer:${ID}`,
  `a=viewer:${ID}/${PROJECT}`,
])('the setting %j is refused', (text) => expect(text).not.toMatch(GROUP_ROLES));

test('a list names the role of each group, its account and its project', () => {
  const list = `/platform/admins=admin, Team A=owner:${ID.toUpperCase()},b=project-member:${ID}/${PROJECT.toUpperCase()}`;
  expect(parseGroupRoles(list)).toEqual([
    { group: '/platform/admins', role: 'admin', accountId: null, projectId: null },
    { group: 'Team A', role: 'owner', accountId: ID, projectId: null },
    { group: 'b', role: 'project-member', accountId: ID, projectId: PROJECT },
  ]);
  expect(parseGroupRoles('none')).toEqual([]);
});

test('a person has one role in a place: that of the first group in the list', () => {
  const list = parseGroupRoles(`leads=owner:${ID},staff=viewer:${ID},auditors=auditor,staff=project-viewer:${ID}/${PROJECT}`);
  expect(grantGroupRoles(['auditors', 'staff', 'leads', 'others'], list)).toEqual([
    { accountId: ID, projectId: null, role: 'owner' },
    { accountId: null, projectId: null, role: 'auditor' },
    { accountId: ID, projectId: PROJECT, role: 'project-viewer' },
  ]);
  expect(grantGroupRoles(['Staff'], list)).toEqual([]);
});

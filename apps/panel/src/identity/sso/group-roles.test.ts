import { GROUP_ROLES, grantGroupRoles, parseGroupRoles } from './group-roles.js';

const ID = '0190a6f0-7c1e-7000-8000-00000000000a';

test.each(['none', 'admins=admin', `admins=admin,team-a=owner:${ID}`, `/platform/admins=auditor, Team A=viewer:${ID}`])(
  'the setting %j is accepted',
  (text) => expect(text).toMatch(GROUP_ROLES),
);

test.each(['', 'admins', '=admin', 'admins=root', 'admins=owner', `admins=admin:${ID}`, 'team=owner:1', 'a=admin,', 'a=b=admin'])(
  'the setting %j is refused',
  (text) => expect(text).not.toMatch(GROUP_ROLES),
);

test('a list names the role of each group, and its account', () => {
  expect(parseGroupRoles(`/platform/admins=admin, Team A=owner:${ID.toUpperCase()}`)).toEqual([
    { group: '/platform/admins', role: 'admin', accountId: null },
    { group: 'Team A', role: 'owner', accountId: ID },
  ]);
  expect(parseGroupRoles('none')).toEqual([]);
});

test('a person has one role in a scope: that of the first group in the list', () => {
  const list = parseGroupRoles(`leads=owner:${ID},staff=viewer:${ID},auditors=auditor`);
  expect(grantGroupRoles(['auditors', 'staff', 'leads', 'others'], list)).toEqual([
    { accountId: ID, role: 'owner' },
    { accountId: null, role: 'auditor' },
  ]);
  expect(grantGroupRoles(['Staff'], list)).toEqual([]);
});

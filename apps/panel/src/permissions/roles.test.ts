import { PERMISSIONS, type Permission, ROLES, type Role } from '../shapes/identity.js';
import { includesPermission, isPlatformRole, isProjectRole, listPermissions } from './permissions.js';

/** Roles that hold each permission, as docs/panel.md says. `admin` holds all. */
const HOLDERS: Record<Permission, Role[]> = {
  'usage.read': ['auditor', 'owner', 'finance', 'developer', 'viewer', 'project-developer', 'project-member', 'project-viewer'],
  'requests.read': ['auditor', 'owner', 'finance', 'developer', 'viewer', 'project-developer', 'project-member', 'project-viewer'],
  'models.read': ['auditor', 'owner', 'finance', 'developer', 'viewer', 'project-developer', 'project-member', 'project-viewer'],
  playground: ['owner', 'developer', 'project-developer', 'project-member'],
  projects: ['owner', 'developer', 'project-developer'],
  keys: ['owner', 'developer', 'project-developer'],
  budgets: ['owner', 'finance'],
  notifications: ['owner', 'finance'],
  'notifications.read': ['auditor', 'owner', 'finance'],
  'money.read': ['auditor', 'owner', 'finance'],
  'money.write': [],
  payments: ['owner', 'finance'],
  accounts: [],
  upstreams: [],
  'upstreams.read': ['auditor'],
  catalog: [],
  'catalog.read': ['auditor'],
  ledger: [],
  'ledger.read': ['auditor'],
  'audit.read': ['auditor', 'owner'],
  members: ['owner'],
  'members.read': ['auditor', 'owner'],
  tokens: ['owner'],
};

test.each(PERMISSIONS)('%s is held by the roles of the table', (permission) => {
  const holders = ROLES.filter((role) => listPermissions(role).includes(permission));
  expect(holders).toEqual(['admin', ...HOLDERS[permission]]);
});

test('admin and auditor are roles of the platform, three of a project, all others of an account', () => {
  expect(ROLES.filter(isPlatformRole)).toEqual(['admin', 'auditor']);
  expect(ROLES.filter(isProjectRole)).toEqual(['project-developer', 'project-member', 'project-viewer']);
});

test('a permission includes its reading form, and never the other way round', () => {
  expect(includesPermission(new Set(['catalog']), 'catalog.read')).toBe(true);
  expect(includesPermission(new Set(['catalog.read']), 'catalog')).toBe(false);
  expect(includesPermission(new Set(['money.write']), 'money.read')).toBe(false);
});

import type { AccountRole, Permission, PlatformRole, Role } from '../shapes/identity.js';
import { PERMISSIONS } from './permissions.js';

const READ_USAGE: readonly Permission[] = ['usage.read', 'requests.read', 'models.read'];

const READ_EVERYTHING: readonly Permission[] = PERMISSIONS.filter((permission) => permission.endsWith('.read'));

/** Permissions of each role of the whole platform. They hold in every account. */
export const PLATFORM_ROLES: Record<PlatformRole, readonly Permission[]> = { admin: PERMISSIONS, auditor: READ_EVERYTHING };

/** Permissions of each role in one account. */
export const ACCOUNT_ROLES: Record<AccountRole, readonly Permission[]> = {
  owner: [...READ_USAGE, 'playground', 'projects', 'keys', 'budgets', 'money.read', 'audit.read', 'members', 'members.read', 'tokens'],
  finance: [...READ_USAGE, 'budgets', 'money.read'],
  developer: [...READ_USAGE, 'playground', 'projects', 'keys'],
  viewer: READ_USAGE,
};

const PERMISSIONS_OF: Record<Role, readonly Permission[]> = { ...PLATFORM_ROLES, ...ACCOUNT_ROLES };

export const ROLES = Object.keys(PERMISSIONS_OF) as Role[];

export function listPermissions(role: Role): readonly Permission[] {
  return PERMISSIONS_OF[role];
}

/** True for a role of the whole platform, which has no account. */
export function isPlatformRole(role: Role): boolean {
  return Object.hasOwn(PLATFORM_ROLES, role);
}

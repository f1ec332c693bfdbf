import { PanelError } from '../errors/panel-error.js';
import { type AccountRole, PERMISSIONS, type Permission, type PlatformRole, type Role } from '../shapes/identity.js';

/** True when `held` contains the permission or, for one that ends with `.read`, the permission without that ending. */
export function includesPermission(held: ReadonlySet<Permission>, wanted: Permission): boolean {
  return held.has(wanted) || held.has(wanted.replace(/\.read$/, '') as Permission);
}

const READ_USAGE: readonly Permission[] = ['usage.read', 'requests.read', 'models.read'];

const READ_EVERYTHING: readonly Permission[] = PERMISSIONS.filter((permission) => permission.endsWith('.read'));

/** Permissions of each role of the whole platform. They hold in every account. */
export const PLATFORM_ROLES: Record<PlatformRole, readonly Permission[]> = { admin: PERMISSIONS, auditor: READ_EVERYTHING };

/** Permissions of each role in one account. */
export const ACCOUNT_ROLES: Record<AccountRole, readonly Permission[]> = {
  owner: [
    ...READ_USAGE,
    ...(['playground', 'projects', 'keys', 'budgets', 'notifications', 'notifications.read', 'money.read'] as const),
    ...(['audit.read', 'members', 'members.read', 'tokens'] as const),
  ],
  // Events have amounts of the balance, which only those see who may read money.
  finance: [...READ_USAGE, 'budgets', 'notifications', 'notifications.read', 'money.read'],
  developer: [...READ_USAGE, 'playground', 'projects', 'keys'],
  viewer: READ_USAGE,
};

const PERMISSIONS_OF: Record<Role, readonly Permission[]> = { ...PLATFORM_ROLES, ...ACCOUNT_ROLES };

export function listPermissions(role: Role): readonly Permission[] {
  return PERMISSIONS_OF[role];
}

/** True for a role of the whole platform, which has no account. */
export function isPlatformRole(role: Role): boolean {
  return Object.hasOwn(PLATFORM_ROLES, role);
}

/** Permissions in one account, or on the whole platform when `accountId` is null. */
export interface Scope {
  accountId: string | null;
  permissions: ReadonlySet<Permission>;
}

/** Permissions of a caller: the sum of its scopes. */
export class Access {
  constructor(private readonly scopes: readonly Scope[]) {}

  /** True when the caller has the permission in the account; for null, on the whole platform. */
  may(permission: Permission, accountId: string | null): boolean {
    return this.scopes.some(
      (scope) => (scope.accountId === null || scope.accountId === accountId) && includesPermission(scope.permissions, permission),
    );
  }

  /** True for operators: callers with a permission on the whole platform. */
  get isPlatformWide(): boolean {
    return this.scopes.some(({ accountId, permissions }) => accountId === null && permissions.size > 0);
  }

  mayAnywhere(permission: Permission): boolean {
    return this.scopes.some(({ permissions }) => includesPermission(permissions, permission));
  }

  /** Accounts in which the caller has the permission, or `all`. */
  accountsWith(permission: Permission): 'all' | string[] {
    if (this.may(permission, null)) return 'all';
    const accounts = this.scopes.flatMap(({ accountId, permissions }) =>
      accountId !== null && includesPermission(permissions, permission) ? [accountId] : [],
    );
    return [...new Set(accounts)];
  }

  /**
   * Call with the account of a row before the row is used or shown.
   * @throws {PanelError} `not_found` for an account that the caller has nothing to do with, `permission_denied` in any other.
   */
  require(permission: Permission, accountId: string | null): void {
    if (this.may(permission, accountId)) return;
    const isKnown = this.scopes.some((scope) => scope.accountId === null || scope.accountId === accountId);
    if (!isKnown && accountId !== null) throw new PanelError('not_found', 'There is no such thing, or it belongs to another account.');
    throw permissionDenied(permission);
  }

  /** @throws {PanelError} `permission_denied`. */
  requireAnywhere(permission: Permission): void {
    if (!this.mayAnywhere(permission)) throw permissionDenied(permission);
  }
}

function permissionDenied(permission: Permission): PanelError {
  return new PanelError('permission_denied', `This needs the permission ${permission}.`);
}

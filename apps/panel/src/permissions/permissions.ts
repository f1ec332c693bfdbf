import { PanelError } from '../errors/panel-error.js';
import { type AccountRole, PERMISSIONS, type Permission, type PlatformRole, type ProjectRole, type Role } from '../shapes/identity.js';

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
    ...(['playground', 'projects', 'keys', 'budgets', 'notifications', 'notifications.read', 'money.read', 'payments'] as const),
    ...(['audit.read', 'members', 'members.read', 'tokens'] as const),
  ],
  // Events have amounts of the balance, which only those see who may read money.
  finance: [...READ_USAGE, 'budgets', 'notifications', 'notifications.read', 'money.read', 'payments'],
  developer: [...READ_USAGE, 'playground', 'projects', 'keys'],
  viewer: READ_USAGE,
};

/** Permissions of each role in one project. */
export const PROJECT_ROLES: Record<ProjectRole, readonly Permission[]> = {
  'project-developer': ACCOUNT_ROLES.developer,
  'project-member': [...READ_USAGE, 'playground'],
  'project-viewer': READ_USAGE,
};

const PERMISSIONS_OF: Record<Role, readonly Permission[]> = { ...PLATFORM_ROLES, ...ACCOUNT_ROLES, ...PROJECT_ROLES };

export function listPermissions(role: Role): readonly Permission[] {
  return PERMISSIONS_OF[role];
}

/** True for a role of the whole platform, which has no account. */
export function isPlatformRole(role: Role): boolean {
  return Object.hasOwn(PLATFORM_ROLES, role);
}

/** True for a role of one project, which has an account too. */
export function isProjectRole(role: Role): boolean {
  return Object.hasOwn(PROJECT_ROLES, role);
}

/** Permissions on the whole platform when `accountId` is null, in a whole account when `projectId` is, else in one project. */
export interface Scope {
  accountId: string | null;
  projectId: string | null;
  permissions: ReadonlySet<Permission>;
}

/** True when the scope contains the place: that of the platform contains all, that of an account its projects. */
function contains(scope: Scope, accountId: string | null, projectId: string | null): boolean {
  return scope.accountId === null || (scope.accountId === accountId && (scope.projectId === null || scope.projectId === projectId));
}

/** Permissions of a caller: the sum of its scopes. */
export class Access {
  constructor(private readonly scopes: readonly Scope[]) {}

  /**
   * True when the caller has the permission in the place: the project; for null, the whole account; for two nulls, the whole platform. What is
   * of an account, such as its balance, has no project, so that roles of a project never reach it.
   */
  may(permission: Permission, accountId: string | null, projectId: string | null = null): boolean {
    return this.scopes.some((scope) => contains(scope, accountId, projectId) && includesPermission(scope.permissions, permission));
  }

  /** True for operators: callers with a permission on the whole platform. */
  get isPlatformWide(): boolean {
    return this.scopes.some(({ accountId, permissions }) => accountId === null && permissions.size > 0);
  }

  mayAnywhere(permission: Permission): boolean {
    return this.scopes.some(({ permissions }) => includesPermission(permissions, permission));
  }

  /** Whole accounts in which the caller has the permission, or `all`. */
  accountsWith(permission: Permission): 'all' | string[] {
    if (this.may(permission, null)) return 'all';
    const accounts = this.scopes.flatMap(({ accountId, projectId, permissions }) =>
      accountId !== null && projectId === null && includesPermission(permissions, permission) ? [accountId] : [],
    );
    return [...new Set(accounts)];
  }

  /** Projects of which the caller has a role with the permission. */
  projectsWith(permission: Permission): { accountId: string; projectId: string }[] {
    return this.scopes.flatMap(({ accountId, projectId, permissions }) =>
      accountId !== null && projectId !== null && includesPermission(permissions, permission) ? [{ accountId, projectId }] : [],
    );
  }

  /**
   * Call with the place of a row before the row is used or shown.
   * @throws {PanelError} `not_found` for an account or project that the caller has nothing to do with, `permission_denied` in any other.
   */
  require(permission: Permission, accountId: string | null, projectId: string | null = null): void {
    if (this.may(permission, accountId, projectId)) return;
    if (accountId !== null && !this.knows(accountId, projectId)) throw notFound();
    const isNarrow = projectId === null && this.projectsWith(permission).some((project) => project.accountId === accountId);
    throw permissionDenied(permission, isNarrow ? ' in the whole account; you have it in projects of it' : '');
  }

  /** True when the caller has a role that reaches the place, or one within it. */
  private knows(accountId: string, projectId: string | null): boolean {
    return this.scopes.some((scope) => contains(scope, accountId, projectId) || (projectId === null && scope.accountId === accountId));
  }

  /** @throws {PanelError} `permission_denied`. */
  requireAnywhere(permission: Permission): void {
    if (!this.mayAnywhere(permission)) throw permissionDenied(permission);
  }
}

/** The same for what is not there and for what the caller may not know of. */
export function notFound(): PanelError {
  return new PanelError('not_found', 'There is no such thing, or it belongs to another account or project.');
}

function permissionDenied(permission: Permission, place = ''): PanelError {
  return new PanelError('permission_denied', `This needs the permission ${permission}${place}.`);
}

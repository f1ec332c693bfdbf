import { PanelError } from '../errors/panel-error.js';
import type { Permission } from '../shapes/identity.js';
import { includesPermission } from './permissions.js';

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

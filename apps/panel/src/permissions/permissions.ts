import type { Permission } from '../shapes/identity.js';

/** All permissions. */
export const PERMISSIONS = Object.keys({
  'usage.read': true,
  'requests.read': true,
  'models.read': true,
  playground: true,
  projects: true,
  keys: true,
  budgets: true,
  'money.read': true,
  'money.write': true,
  accounts: true,
  upstreams: true,
  'upstreams.read': true,
  catalog: true,
  'catalog.read': true,
  ledger: true,
  'ledger.read': true,
  'audit.read': true,
  members: true,
  'members.read': true,
  tokens: true,
} satisfies Record<Permission, true>) as Permission[];

/** True when `held` contains the permission or, for one that ends with `.read`, the permission without that ending. */
export function includesPermission(held: ReadonlySet<Permission>, wanted: Permission): boolean {
  return held.has(wanted) || held.has(wanted.replace(/\.read$/, '') as Permission);
}

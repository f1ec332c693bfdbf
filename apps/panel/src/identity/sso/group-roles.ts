import { ACCOUNT_ROLES, PLATFORM_ROLES } from '../../permissions/permissions.js';
import type { GrantRow } from '../grants.js';

const ID = '[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}';
const ROLE = `(?:${Object.keys(PLATFORM_ROLES).join('|')}|(?:${Object.keys(ACCOUNT_ROLES).join('|')}):${ID})`;
const GROUP_ROLE = `\\s*[^=,\\s][^=,]*=${ROLE}\\s*`;

/** `none`, or a list such as `admins=admin,team-a=owner:<account-id>`. */
export const GROUP_ROLES = new RegExp(`^none$|^${GROUP_ROLE}(,${GROUP_ROLE})*$`);

/** A role that the members of a group get. */
export interface GroupRole extends GrantRow {
  group: string;
}

/** Parses a setting that has the form `GROUP_ROLES`. */
export function parseGroupRoles(text: string): GroupRole[] {
  if (text === 'none') return [];
  return text.split(',').map((pair) => {
    const [group = '', granted = ''] = pair.split('=').map((part) => part.trim());
    const [role = '', accountId = null] = granted.split(':');
    return { group, role, accountId: accountId?.toLowerCase() ?? null };
  });
}

/** Returns the roles of a member of these groups, one in each scope: where several groups give one, the first of the list counts. */
export function grantGroupRoles(groups: readonly string[], groupRoles: readonly GroupRole[]): GrantRow[] {
  const roles = new Map<string | null, string>();
  for (const { group, accountId, role } of groupRoles) if (groups.includes(group) && !roles.has(accountId)) roles.set(accountId, role);
  return [...roles].map(([accountId, role]) => ({ accountId, role }));
}

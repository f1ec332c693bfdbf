import { ACCOUNT_ROLES, PLATFORM_ROLES, PROJECT_ROLES } from '../../permissions/permissions.js';
import { type GrantRow, isSamePlace } from '../grants.js';

const ID = '[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}';
const choice = (roles: object): string => `(?:${Object.keys(roles).join('|')})`;
const ROLE = `(?:${choice(PLATFORM_ROLES)}|${choice(ACCOUNT_ROLES)}:${ID}|${choice(PROJECT_ROLES)}:${ID}/${ID})`;
const GROUP_ROLE = `\\s*[^=,\\s][^=,]*=${ROLE}\\s*`;

/** `none`, or a list such as `admins=admin,team-a=owner:<account-id>,team-b=project-developer:<account-id>/<project-id>`. */
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
    const [role = '', place = ''] = granted.split(':');
    const [accountId, projectId = null] = place.toLowerCase().split('/');
    return { group, role, accountId: accountId || null, projectId };
  });
}

/** Returns the roles of a member of these groups, one in each place: where several groups give one, the first of the list counts. */
export function grantGroupRoles(groups: readonly string[], groupRoles: readonly GroupRole[]): GrantRow[] {
  const roles: GrantRow[] = [];
  for (const { group, ...role } of groupRoles)
    if (groups.includes(group) && !roles.some((given) => isSamePlace(given, role))) roles.push(role);
  return roles;
}

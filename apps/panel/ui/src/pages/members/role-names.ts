import type { AccountRole, PlatformRole, ProjectRole, Role } from '../../../../src/shapes/identity.js';

/** Place of a role: the platform when `accountId` is null, the whole account when `projectId` is. */
export interface RolePlace {
  accountId: string | null;
  projectId: string | null;
}

export const ROLE_NAMES: Record<Role, string> = {
  admin: 'Admin',
  auditor: 'Auditor',
  owner: 'Owner',
  finance: 'Finance',
  developer: 'Developer',
  viewer: 'Viewer',
  'project-developer': 'Developer',
  'project-member': 'Member',
  'project-viewer': 'Viewer',
};

const OF_PLATFORM: Record<PlatformRole, string> = { admin: 'everything, in every account', auditor: 'reads everything' };
const OF_ACCOUNT: Record<AccountRole, string> = {
  owner: 'projects, keys, members, money',
  finance: 'money and budgets',
  developer: 'projects and keys',
  viewer: 'usage and requests',
};
const OF_PROJECT: Record<ProjectRole, string> = {
  'project-developer': 'the project and its keys',
  'project-member': 'usage, requests and the playground',
  'project-viewer': 'usage and requests',
};

/** Returns the roles of a place with what each is for, as options of a choice. */
export function listRoles({ accountId, projectId }: RolePlace): [Role, string][] {
  const abouts: Partial<Record<Role, string>> = accountId === null ? OF_PLATFORM : projectId === null ? OF_ACCOUNT : OF_PROJECT;
  return (Object.entries(abouts) as [Role, string][]).map(([role, about]) => [role, `${ROLE_NAMES[role]}: ${about}`]);
}

import { keyList } from '#contracts/billing/keys.js';
import { projectList } from '#contracts/billing/projects.js';
import { type BilledRequest, requestShow } from '#contracts/billing/requests.js';
import { ServiceError } from '#contracts/service-error.js';
import { PanelError } from '../errors/panel-error.js';
import type { Place } from '../identity/grants.js';
import { type Access, notFound } from '../permissions/permissions.js';
import type { AskServices } from '../services/services.js';
import type { Project } from '../shapes/billing.js';
import type { Permission } from '../shapes/identity.js';

/**
 * Rows that a path names by their own id. Each function returns the row if the caller has the permission in its project. A row that does
 * not exist and a row of another account or project get the same 404, so that no caller learns which ids exist.
 */

export function ownedProject(services: AskServices, access: Access, permission: Permission, projectId: string): Promise<Project> {
  return owned(access, permission, async () => (await services.ask(projectList, { projectId })).projects[0]);
}

/** Returns the project of the key. */
export function ownedKey(services: AskServices, access: Access, permission: Permission, keyId: string): Promise<Project> {
  return owned(access, permission, async () => {
    const [key] = (await services.ask(keyList, { keyId })).keys;
    return key && (await services.ask(projectList, { projectId: key.projectId })).projects[0];
  });
}

export function ownedRequest(services: AskServices, access: Access, permission: Permission, requestId: string): Promise<BilledRequest> {
  return owned(access, permission, () => services.ask(requestShow, { requestId }));
}

/** Returns the projects of a caller, oldest first. */
export async function readProjects(services: AskServices, ids: readonly { projectId: string }[]): Promise<Project[]> {
  const replies = await Promise.all(ids.map(({ projectId }) => services.ask(projectList, { projectId })));
  return replies.flatMap(({ projects }) => projects).sort((one, other) => one.createdAt.localeCompare(other.createdAt));
}

/** Returns the place, with the account of its project where it names none. @throws {PanelError} `not_found` for a project of another account */
export async function completePlace(services: AskServices, place: Place): Promise<Place> {
  const { accountId, projectId } = place;
  if (projectId === null) return place;
  const [project] = (await services.ask(projectList, { projectId })).projects;
  if (!project || project.accountId !== (accountId ?? project.accountId))
    throw new PanelError('not_found', 'The account has no such project.', { param: 'projectId' });
  return { accountId: project.accountId, projectId };
}

async function owned<Row extends { accountId: string; projectId: string }>(
  access: Access,
  permission: Permission,
  find: () => Promise<Row | undefined>,
): Promise<Row> {
  const row = await find().catch((error) => {
    if (error instanceof ServiceError && error.code === 'not_found') return undefined;
    throw error;
  });
  // No account has the id '', so this is what another account's row gets.
  access.require(permission, row?.accountId ?? '', row?.projectId);
  if (!row) throw notFound();
  return row;
}

import { createContext, use } from 'react';
import type { ProjectPlace } from '../../../src/shapes/billing.js';
import type { Grant, Permission } from '../../../src/shapes/identity.js';

/** Place of the pages: an account, one project of it, or the whole platform, whose account is `all`. */
export interface Place {
  account: string;
  project?: string | undefined;
}

/** Returns the place of an address, which has the id of an account or of a project of the person, or `all`. */
export function findPlace(id: string, projects: readonly ProjectPlace[]): Place {
  const found = projects.find(({ projectId }) => projectId === id);
  return found ? { account: found.accountId, project: found.projectId } : { account: id };
}

/** True when a role that holds in the place has the permission. `account` null: the whole platform. */
export function mayIn(grants: readonly Grant[], permission: Permission, account: string | null, project?: string): boolean {
  return grants.some(
    ({ accountId, projectId, permissions }) =>
      (accountId === null || (accountId === account && (projectId === null || projectId === project))) && permissions.includes(permission),
  );
}

/** Names the project in a question about its account: people of one project may ask no other. */
export function narrow(path: string, { account, project }: Place): string {
  const isInAccount = path.startsWith(`/accounts/${account}/`) || path.startsWith(`/panel/v1/accounts/${account}/`);
  if (!project || !isInAccount || /[?&]projectId=/.test(path)) return path;
  return `${path}${path.includes('?') ? '&' : '?'}projectId=${project}`;
}

/** The place of the pages, for calls. */
export const PlaceContext = createContext<Place>({ account: 'all' });

/** Returns the function that narrows an address of the API to the place of the pages. */
export function useNarrow(): (path: string) => string {
  const place = use(PlaceContext);
  return (path) => narrow(path, place);
}

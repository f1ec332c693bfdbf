import { useCallback } from 'react';
import type { KeyListReply } from '../../../src/shapes/keys.js';
import type { Project, ProjectListReply } from '../../../src/shapes/projects.js';
import { useSession } from './session.js';
import { useApi } from './use-api.js';

const ROWS_MAX = 1_000;

/** Projects and keys of an account, by default that of the page, and the names of their ids. Two calls, which the pages share. */
export function useNames(of?: string) {
  const { account: ofPage, accountName } = useSession();
  const account = of ?? ofPage;
  const projects = useApi<ProjectListReply>(`/accounts/${account}/projects?limit=${ROWS_MAX}`);
  const keys = useApi<KeyListReply>(`/accounts/${account}/keys?limit=${ROWS_MAX}`);
  const projectName = useCallback(
    (id: string) => projects.data?.projects.find(({ projectId }) => projectId === id)?.name ?? shortId(id),
    [projects.data],
  );
  const keyName = useCallback(
    (id: string) => {
      const key = keys.data?.keys.find(({ keyId }) => keyId === id);
      return key ? (key.name ?? `…${key.lastFour}`) : shortId(id);
    },
    [keys.data],
  );
  return { projects: projects.data?.projects, keys: keys.data?.keys, projectName, keyName, accountName };
}

/** The options of a choice between projects. */
export function listProjects(projects: readonly Project[]): [projectId: string, name: string][] {
  return projects.map(({ projectId, name }) => [projectId, name]);
}

/** The end of an id: the start of a UUID v7 is its time, which neighbours share. */
export function shortId(id: string): string {
  return id.length > 12 ? `…${id.slice(-8)}` : id;
}

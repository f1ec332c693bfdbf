import { accountList } from '#contracts/billing/accounts.js';
import type { Paged } from '#contracts/billing/fields.js';
import { keyList } from '#contracts/billing/keys.js';
import { projectList } from '#contracts/billing/projects.js';
import { type AskServices, readPages } from './services.js';

/** 20,000 rows. A name beyond them is left out, since the id is there. */
const PAGES_MAX = 20;

export type NamedResource = 'account' | 'project' | 'key';

/** Returns the name of an account, project or key. Undefined: it has none, or there are too many. */
export type Names = (resource: NamedResource, id: string | undefined) => string | undefined;

/** Absent: of all accounts, or of all projects. */
interface Scope {
  accountId?: string | undefined;
  projectId?: string | undefined;
}

type Row = { id: string; name: string };
type List = (services: AskServices, page: Scope & { cursor?: string | undefined }) => Promise<Paged & { rows: Row[] }>;

const LISTS: Record<NamedResource, List> = {
  account: async (services, { accountId, cursor }) => {
    const { accounts, nextCursor } = await services.ask(accountList, { accountId, cursor });
    return { rows: accounts.map(({ accountId, name }) => ({ id: accountId, name })), nextCursor };
  },
  project: async (services, page) => {
    const { projects, nextCursor } = await services.ask(projectList, page);
    return { rows: projects.map(({ projectId, name }) => ({ id: projectId, name })), nextCursor };
  },
  key: async (services, page) => {
    const { keys, nextCursor } = await services.ask(keyList, page);
    return { rows: keys.map(({ keyId, name, lastFour }) => ({ id: keyId, name: name ?? `…${lastFour}` })), nextCursor };
  },
};

/** Reads the names of resources. */
export async function readNames(
  services: AskServices,
  resources: readonly NamedResource[],
  { accountId, projectId }: Scope,
): Promise<Names> {
  const names = new Map<string, string>();
  for (const resource of resources) {
    let pages = 0;
    for await (const rows of readPages((cursor) => LISTS[resource](services, { accountId, projectId, cursor }))) {
      for (const { id, name } of rows) names.set(`${resource}/${id}`, name);
      if (++pages === PAGES_MAX) break;
    }
  }
  return (resource, id) => names.get(`${resource}/${id}`);
}

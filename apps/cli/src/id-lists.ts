import { accountList } from '#contracts/billing/accounts.js';
import type { Paged } from '#contracts/billing/fields.js';
import { keyList } from '#contracts/billing/keys.js';
import { projectList } from '#contracts/billing/projects.js';
import { priceList } from '#contracts/scheduled-prices.js';
import type { Messaging } from '#messaging/messaging.js';

/** 20,000 rows. With more of them the search of a name or a shortened id takes too long. */
const PAGES_MAX = 20;
const RETIRED: ReadonlySet<string> = new Set(['revoked', 'expired']);

export interface NamedRow {
  id: string;
  name: string | null;
  /** Last four characters of a key. */
  lastFour?: string;
  /** True for a key that ended or was replaced: its name means the key that is in use. */
  isRetired?: boolean;
}

/** Rows of one account or project only. */
export interface Scope {
  accountId?: string;
  projectId?: string;
}

type List = (messaging: Messaging, page: Scope & { cursor?: string }) => Promise<Paged & { rows: NamedRow[] }>;

/** Resources that have ids, each with a page of its list. In the order in which ids are completed: each is the scope of those below it. */
const LISTS = {
  account: async (messaging, { cursor }) => {
    const { accounts, nextCursor } = await messaging.request(accountList, { cursor });
    return { rows: accounts.map(({ accountId, name }) => ({ id: accountId, name })), nextCursor };
  },
  project: async (messaging, { accountId, cursor }) => {
    const { projects, nextCursor } = await messaging.request(projectList, { accountId, cursor });
    return { rows: projects.map(({ projectId, name }) => ({ id: projectId, name })), nextCursor };
  },
  key: async (messaging, page) => {
    const { keys, nextCursor } = await messaging.request(keyList, page);
    const rows = keys.map(({ keyId, name, lastFour, status, replacedBy }) => ({
      ...{ id: keyId, name, lastFour },
      isRetired: RETIRED.has(status) || Boolean(replacedBy),
    }));
    return { rows, nextCursor };
  },
  price: async (messaging) => {
    const { prices } = await messaging.request(priceList, {});
    return { rows: prices.map(({ scheduledPriceId, model }) => ({ id: scheduledPriceId, name: model })), nextCursor: null };
  },
} satisfies Record<string, List>;

export type Resource = keyof typeof LISTS;

export const RESOURCES = Object.keys(LISTS) as readonly Resource[];

/** Returns the rows of a resource: all of them, unless there are too many. */
export async function listRows(
  resource: Resource,
  messaging: Messaging,
  scope: Scope = {},
): Promise<{ rows: NamedRow[]; isComplete: boolean }> {
  const list: List = LISTS[resource];
  const rows: NamedRow[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < PAGES_MAX; page++) {
    const { rows: more, nextCursor } = await list(messaging, { ...scope, cursor });
    rows.push(...more);
    if (nextCursor === null) return { rows, isComplete: true };
    cursor = nextCursor;
  }
  return { rows, isComplete: false };
}

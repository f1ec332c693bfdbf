import { accountList } from '#contracts/billing/accounts.js';
import type { Paged } from '#contracts/billing/fields.js';
import { keyList } from '#contracts/billing/keys.js';
import { projectList } from '#contracts/billing/projects.js';
import { priceList } from '#contracts/scheduled-prices.js';
import type { Messaging } from '#messaging/messaging.js';
import { UsageError } from './usage-error.js';

const ID_LENGTH = 36;
/** 20,000 rows. With more of them the search of a shortened id takes too long. */
const PAGES_MAX = 20;
const NAMED_MAX = 5;

interface Named {
  id: string;
  name: string;
}

type Page = Paged & { rows: Named[] };

/** Resources that have ids, each with a page of its list. */
const LISTS = {
  account: async (messaging: Messaging, cursor?: string): Promise<Page> => {
    const { accounts, nextCursor } = await messaging.request(accountList, { cursor });
    return { rows: accounts.map(({ accountId, name }) => ({ id: accountId, name })), nextCursor };
  },
  project: async (messaging: Messaging, cursor?: string): Promise<Page> => {
    const { projects, nextCursor } = await messaging.request(projectList, { cursor });
    return { rows: projects.map(({ projectId, name }) => ({ id: projectId, name })), nextCursor };
  },
  key: async (messaging: Messaging, cursor?: string): Promise<Page> => {
    const { keys, nextCursor } = await messaging.request(keyList, { cursor });
    return { rows: keys.map(({ keyId, name, lastFour }) => ({ id: keyId, name: name ?? `…${lastFour}` })), nextCursor };
  },
  price: async (messaging: Messaging): Promise<Page> => {
    const { prices } = await messaging.request(priceList, {});
    return { rows: prices.map(({ scheduledPriceId, model }) => ({ id: scheduledPriceId, name: model })), nextCursor: null };
  },
};

export type Resource = keyof typeof LISTS;

export interface IdParameter {
  /** Set for an id, which may be shortened to a start that no other id of the resource has. */
  resource?: Resource;
  /** True for an id that may be left out where only one exists. */
  defaultsToOnly?: boolean;
}

/**
 * Returns the values with the shortened ids completed, and with those left out that default to the only one. Returns `values` itself if
 * there is nothing to do; then it asks for no list.
 *
 * @throws UsageError that names the candidates when an id fits none or several
 */
export async function completeIds(
  parameters: Readonly<Record<string, IdParameter>>,
  values: Record<string, unknown>,
  messaging: Messaging,
): Promise<Record<string, unknown>> {
  const complete: Record<string, unknown> = {};
  for (const [name, { resource, defaultsToOnly }] of Object.entries(parameters)) {
    const typed = values[name] as string | undefined;
    if (resource === undefined || typed?.length === ID_LENGTH || (typed === undefined && !defaultsToOnly)) continue;
    complete[name] = await onlyId(resource, typed, messaging);
  }
  return Object.keys(complete).length === 0 ? values : { ...values, ...complete };
}

async function onlyId(resource: Resource, start: string | undefined, messaging: Messaging): Promise<string> {
  const found = (await everyRow(resource, messaging)).filter(({ id }) => id.startsWith(start ?? ''));
  const [only] = found;
  if (only !== undefined && found.length === 1) return only.id;
  if (start === undefined)
    throw new UsageError(`--${resource} is required: there ${only ? `are ${describe(resource, found)}` : `is no ${resource}`}`);
  if (only === undefined) throw new UsageError(`there is no ${resource} whose id starts with ${start}`);
  throw new UsageError(`${start} is the start of ${describe(resource, found)}`);
}

async function everyRow(resource: Resource, messaging: Messaging): Promise<Named[]> {
  const rows: Named[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < PAGES_MAX; page++) {
    const { rows: more, nextCursor } = await LISTS[resource](messaging, cursor);
    rows.push(...more);
    if (nextCursor === null) return rows;
    cursor = nextCursor;
  }
  throw new UsageError(`there are too many ${resource}s to search: give the whole id`);
}

/** Renders `2 accounts: 0190… (acme), 0191… (demo)`. */
function describe(resource: Resource, found: Named[]): string {
  const named = found.slice(0, NAMED_MAX).map(({ id, name }) => `${id} (${name.replace(/\p{Cc}/gu, '\u{fffd}')})`);
  const rest = found.length - named.length;
  return `${found.length} ${resource}s: ${named.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}

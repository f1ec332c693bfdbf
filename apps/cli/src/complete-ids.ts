import type { Messaging } from '#messaging/messaging.js';
import { listRows, type NamedRow, RESOURCES, type Resource, type Scope } from './id-lists.js';
import { withoutControls } from './render.js';
import { suggestName } from './suggest-name.js';
import { UsageError } from './usage-error.js';

export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const LISTED_MAX = 5;

export interface IdParameter {
  /** Set for an id, in place of which a name may stand, or a start that no other id of the resource has. */
  resource?: Resource;
  /** True for an id that may be left out where only one exists. */
  defaultsToOnly?: boolean;
}

/**
 * Returns the values with ids in place of names and of shortened ids, and of those left out that default to the only one. Returns `values`
 * itself if there is nothing to do; then it asks for no list.
 *
 * @throws UsageError that names the candidates when a value fits none or several
 */
export async function completeIds(
  parameters: Readonly<Record<string, IdParameter>>,
  values: Record<string, unknown>,
  messaging: Messaging,
): Promise<Record<string, unknown>> {
  const complete: Record<string, unknown> = {};
  const scope: Scope = {};
  for (const resource of RESOURCES) {
    for (const [name, parameter] of Object.entries(parameters)) {
      if (parameter.resource !== resource) continue;
      let id = values[name] as string | undefined;
      if (id === undefined ? parameter.defaultsToOnly : !UUID.test(id)) {
        id = await findId(resource, id, messaging, scope);
        complete[name] = id;
      }
      if (resource === 'account') scope.accountId = id;
      if (resource === 'project') scope.projectId = id;
    }
  }
  return Object.keys(complete).length === 0 ? values : { ...values, ...complete };
}

async function findId(resource: Resource, typed: string | undefined, messaging: Messaging, scope: Scope): Promise<string> {
  const { rows, isComplete } = await listRows(resource, messaging, scope);
  if (!isComplete) throw new UsageError(`there are too many ${resource}s to search: give the whole id`);
  if (typed === undefined)
    return only(rows, () => `--${resource} is required: there ${rows.length > 0 ? 'are' : 'is'} ${describe(resource, rows)}`);
  const started = rows.filter(({ id }) => typed.length >= 4 && id.startsWith(typed.toLowerCase()));
  if (started.length > 0) return only(started, () => `${typed} is the start of ${describe(resource, started)}`);
  const named = findNamed(rows, typed);
  if (named.length > 0) return only(named, () => `${typed} is the name of ${describe(resource, named)}`);
  const suggested = suggestName(
    typed,
    rows.flatMap(({ name }) => name ?? []),
  );
  throw new UsageError(
    `there is no ${resource} ${typed}${suggested === undefined ? '' : ` (Did you mean ${withoutControls(suggested)}?)`}`,
  );
}

/** Returns the rows with the name: in the same case if there are some, and of those the ones in use if there are some. */
function findNamed(rows: readonly NamedRow[], typed: string): NamedRow[] {
  const alike = rows.filter(({ name }) => name?.toLowerCase() === typed.toLowerCase());
  const exact = alike.filter(({ name }) => name === typed);
  const found = exact.length > 0 ? exact : alike;
  const used = found.filter(({ isRetired }) => !isRetired);
  return used.length > 0 ? used : found;
}

function only(rows: readonly NamedRow[], describeFault: () => string): string {
  const [first] = rows;
  if (first === undefined || rows.length > 1) throw new UsageError(describeFault());
  return first.id;
}

/** Renders `2 accounts: 0190… (acme), 0191… (demo)`, or `no account`. */
function describe(resource: Resource, found: readonly NamedRow[]): string {
  if (found.length === 0) return `no ${resource}`;
  const named = found.slice(0, LISTED_MAX).map(({ id, name, lastFour }) => `${id} (${withoutControls(name ?? `…${lastFour}`)})`);
  const rest = found.length - named.length;
  return `${found.length} ${resource}s: ${named.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}

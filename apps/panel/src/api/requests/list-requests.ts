import { type RequestListRequest, type RequestRow, requestList } from '#contracts/billing/requests.js';
import type { EndedRequest } from '#contracts/gateway.js';
import type { RefusalFilters, RefusalPage, RefusalPlace } from '../../activity/refusals.js';
import type { AskServices } from '../../services/services.js';
import type { ListedEnding, ListedRequest, RequestListReply } from '../../shapes/requests.js';
import { type ListPlace, parsePlace, renderPlace } from './list-cursor.js';
import type { RequestListQuery } from './request-query.js';

const LIMIT_DEFAULT = 100;
/** Pages of billing that one call searches for a status or code, which billing does not know. */
const SEARCHED_PAGES_MAX = 5;

/** Reads what the panel recorded. */
export interface Records {
  find: (requestIds: readonly string[]) => Promise<Map<string, EndedRequest>>;
  refusals: (filters: RefusalFilters, after: RefusalPlace | undefined, limit: number) => Promise<RefusalPage>;
}

/**
 * Lists requests by the time of their end: those of billing, and the refused ones, of which billing knows nothing. A page has the requests
 * that billing returns, and the refused ones of the same time. When these are too many, the page ends with the last of them, and the next page
 * asks billing for what follows. Sorted by another value, the list has billing's requests alone.
 */
export async function listRequests(services: AskServices, records: Records, query: RequestListQuery): Promise<RequestListReply> {
  const { cursor, limit = LIMIT_DEFAULT } = query;
  const place = cursor === undefined ? {} : parsePlace(cursor);
  const billed = await readBilled(services, records, query, place, limit);
  // Running requests are on the first page alone.
  const rows = cursor === undefined ? billed.rows : billed.rows.filter(({ settledAt }) => settledAt !== null);
  if (!mayBeRefused(query))
    return { requests: rows, ...renderNext(query, billed.next === undefined ? undefined : { ...place, billed: billed.next }, billed.end) };
  const isOldestFirst = query.order === 'asc';
  const { end } = billed;
  const span = end === null ? {} : isOldestFirst ? { to: end } : { from: end };
  const { refusals, next } = await records.refusals({ ...query, ...span }, place.refused, limit);
  const refused = refusals.map(toListed);
  if (next) {
    const inPage = rows.filter(({ settledAt }) => settledAt === null || (isOldestFirst ? settledAt <= next.at : settledAt >= next.at));
    // At the end of billing's page its own cursor goes on, because more requests may have ended at the same moment.
    const rest = next.at === end ? { ...place, billed: billed.next } : { bound: isOldestFirst ? momentAfter(next.at) : next.at };
    return { requests: merge(query, inPage, refused), ...renderNext(query, { ...rest, refused: next }, next.at) };
  }
  const following = end === null ? undefined : { ...place, billed: billed.next, refused: { at: end, requestId: '' } };
  return { requests: merge(query, rows, refused), ...renderNext(query, following, end) };
}

/** Requests have the milliseconds of their end. */
function momentAfter(at: string): string {
  return new Date(Date.parse(at) + 1).toISOString();
}

/** `end`: the moment up to which the page is complete. Only the newest are searched back to one. */
function renderNext(query: RequestListQuery, place: ListPlace | undefined, end: string | null): Omit<RequestListReply, 'requests'> {
  return place ? { nextCursor: renderPlace(place), searchedTo: isNewestFirst(query) ? end : null } : { nextCursor: null, searchedTo: null };
}

function isNewestFirst({ sort = 'time', order = 'desc' }: RequestListQuery): boolean {
  return sort === 'time' && order === 'desc';
}

/** Both lists are in the order of the query. Running requests come first. */
function merge({ order }: RequestListQuery, billed: readonly ListedRequest[], refused: readonly ListedRequest[]): ListedRequest[] {
  const readEnd = ({ settledAt }: ListedRequest): string => settledAt ?? '9';
  const direction = order === 'asc' ? 1 : -1;
  return [...billed, ...refused].sort(
    (one, other) => direction * (readEnd(one) < readEnd(other) ? -1 : readEnd(one) > readEnd(other) ? 1 : 0),
  );
}

interface Billed {
  rows: ListedRequest[];
  /** Billing's cursor of the next page. */
  next: string | undefined;
  /** The moment up to which the rows are complete in the order of time. Null: there are no more. */
  end: string | null;
}

const NOTHING: Billed = { rows: [], next: undefined, end: null };

async function readBilled(
  services: AskServices,
  records: Records,
  query: RequestListQuery,
  place: ListPlace,
  limit: number,
): Promise<Billed> {
  const { status, code, ending, cursor: _, ...filters } = query;
  const wanted = findEnding(query);
  const { from, to } = query.order === 'asc' ? { ...query, from: place.bound ?? query.from } : { ...query, to: place.bound ?? query.to };
  if (wanted === 'none' || (from && to && place.bound && Date.parse(from) >= Date.parse(to))) return NOTHING;
  const question: RequestListRequest = { ...filters, from, to, limit, ...(wanted && { ending: wanted }) };
  const rows: ListedRequest[] = [];
  for (let cursor = place.billed, pages = 1; ; pages++) {
    const page = await services.ask(requestList, { ...question, cursor });
    const listed = await describe(page.requests, records);
    rows.push(...listed.filter((row) => (status ?? row.status) === row.status && (code ?? row.code) === row.code));
    if (page.nextCursor === null) return { rows, next: undefined, end: null };
    const isSearched = status === undefined && code === undefined;
    if (isSearched || rows.length > 0 || pages === SEARCHED_PAGES_MAX)
      return { rows, next: page.nextCursor, end: page.searchedTo ?? page.requests.at(-1)?.settledAt ?? null };
    cursor = page.nextCursor;
  }
}

/** Codes of a client that left: it got none, so that the gateway reports none. */
const CLIENT_DISCONNECTED = 'client_disconnected';

/** Returns the ending for which billing is asked. Undefined: all; `none`: billing has no such request. */
function findEnding({ ending, status, code }: RequestListQuery): RequestListRequest['ending'] | 'none' {
  if (ending === 'refused') return 'none';
  if (ending !== undefined || (status === undefined && code === undefined)) return ending;
  if (code === CLIENT_DISCONNECTED || status === 499) return 'client-disconnected';
  // A stream may fail after its status 200.
  return code === undefined && status !== undefined && status < 400 ? undefined : 'failed';
}

/** Refused requests have no upstream, cost and duration. */
function mayBeRefused(query: RequestListQuery): boolean {
  const { ending, upstream, sort = 'time', costMinPicoUsd, costMaxPicoUsd, tookMinMs, tookMaxMs } = query;
  const others = [upstream, costMinPicoUsd, costMaxPicoUsd, tookMinMs, tookMaxMs];
  return sort === 'time' && (ending ?? 'refused') === 'refused' && others.every((filter) => filter === undefined);
}

/** Adds what the clients got, of which billing knows nothing. */
async function describe(rows: readonly RequestRow[], records: Records): Promise<ListedRequest[]> {
  const ended = rows.filter(({ ending }) => ending !== null && ending !== 'completed');
  const found = await records.find(ended.map(({ requestId }) => requestId));
  return rows.map((row) => {
    const { status = row.ending === 'completed' ? 200 : null, code, outcome } = found.get(row.requestId) ?? {};
    const left = outcome === 'client-disconnected' ? CLIENT_DISCONNECTED : null;
    return { ...row, status, code: code ?? left, message: null, refusal: null };
  });
}

function toListed(refused: EndedRequest & { accountId: string }): ListedRequest {
  const { requestId, accountId, projectId = '', keyId = '', model, receivedAt, status, code, message, refusal } = refused;
  return {
    ...{ requestId, holdId: null, accountId, projectId, keyId, model: model ?? null, upstream: null, heldPicoUsd: null },
    ...{ reservedAt: receivedAt, settledAt: receivedAt, ending: 'refused' satisfies ListedEnding, usage: null, costPicoUsd: null },
    ...{ status, code: code ?? null, message: message ?? null, refusal: refusal ?? null },
  };
}

import fc from 'fast-check';
import type { RequestListRequest, RequestRow } from '#contracts/billing/requests.js';
import type { EndedRequest } from '#contracts/gateway.js';
import type { RefusalFilters, RefusalPlace } from '../../activity/refusals.js';
import type { ListedRequest } from '../../shapes/requests.js';
import { listRequests } from './list-requests.js';
import type { RequestListQuery } from './request-query.js';

const ACCOUNT = { accountId: 'a', projectId: 'p', keyId: 'k' };
const START = Date.parse('2027-01-01T00:00:00.000Z');
const at = (second: number): string => new Date(START + second * 1_000).toISOString();

/** A request of billing that ended at a second. */
function billed(second: number, ending: RequestRow['ending'] = 'completed', id = `billed-${second}`): RequestRow {
  const settledAt = ending === null ? null : at(second);
  return {
    ...{ ...ACCOUNT, requestId: id, holdId: id, model: 'm', upstream: 'u', reservedAt: at(second - 1), heldPicoUsd: '10' },
    ...{ settledAt, ending, usage: null, costPicoUsd: ending === null ? null : '1' },
  };
}

function refused(second: number, over: Partial<EndedRequest> = {}, id = `refused-${second}`): EndedRequest & { accountId: string } {
  return {
    ...{ ...ACCOUNT, requestId: id, receivedAt: at(second), protocol: 'chat', stream: false, status: 429, code: 'concurrency_limit' },
    ...{ endedMs: 1, ...over },
  };
}

/** Billing and the panel's records, each with requests in any order. */
class Sources {
  readonly asked: RequestListRequest[] = [];

  constructor(
    private readonly rows: RequestRow[],
    private readonly refusals: (EndedRequest & { accountId: string })[],
    private readonly recorded: Record<string, Partial<EndedRequest>> = {},
  ) {}

  page(query: RequestListQuery) {
    const services = { ask: async (_: unknown, request: RequestListRequest) => this.askBilling(request) };
    const find = async () => new Map(Object.entries(this.recorded)) as Map<string, EndedRequest>;
    const refusals = async (...asked: [RefusalFilters, RefusalPlace | undefined, number]) => this.readRefusals(...asked);
    return listRequests(services as never, { find, refusals }, query);
  }

  async pages(query: RequestListQuery): Promise<ListedRequest[][]> {
    const found: ListedRequest[][] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await this.page({ ...query, ...(cursor && { cursor }) });
      found.push(page.requests);
      cursor = page.nextCursor;
    }
    return found;
  }

  private askBilling(request: RequestListRequest) {
    this.asked.push(request);
    const { limit = 100, cursor, to, from, ending, order } = request;
    const inTime = ({ settledAt }: RequestRow) => settledAt !== null && (!to || settledAt < to) && (!from || settledAt >= from);
    const ended = this.rows.filter((row) => inTime(row) && (ending === undefined || row.ending === ending));
    const inOrder = ended.sort((one, other) => ((one.settledAt ?? '') < (other.settledAt ?? '') ? 1 : -1));
    if (order === 'asc') inOrder.reverse();
    const [bound, skipped = 0] = JSON.parse(cursor ?? 'null') ?? [order === 'asc' ? from : to, 0];
    if (bound !== ((order === 'asc' ? from : to) ?? null) && cursor) throw new Error('the cursor is of another question');
    const rows = inOrder.slice(skipped, skipped + limit);
    const hasMore = inOrder.length > skipped + limit;
    return {
      requests: [...(cursor || order === 'asc' ? [] : this.rows.filter((row) => row.ending === null && !ending)), ...rows],
      nextCursor: hasMore ? JSON.stringify([(order === 'asc' ? from : to) ?? null, skipped + limit]) : null,
      searchedTo: hasMore && order !== 'asc' ? (rows.at(-1)?.settledAt ?? null) : null,
    };
  }

  private readRefusals({ from, to, code, order }: RefusalFilters, after: RefusalPlace | undefined, limit: number) {
    const isWanted = ({ receivedAt, requestId, code: own }: EndedRequest) =>
      (!from || receivedAt >= from) &&
      (!to || receivedAt < to) &&
      (!code || own === code) &&
      (!after || (order === 'asc' ? key({ receivedAt, requestId }) > key(after) : key({ receivedAt, requestId }) < key(after)));
    const rows = this.refusals.filter(isWanted).sort((one, other) => (key(one) < key(other) ? 1 : -1));
    if (order === 'asc') rows.reverse();
    const last = rows[limit - 1];
    return {
      refusals: rows.slice(0, limit),
      next: rows.length > limit && last ? { at: last.receivedAt, requestId: last.requestId } : undefined,
    };
  }
}

/** Place of a refusal in their order. */
const key = ({ receivedAt, at: moment = receivedAt, requestId }: { receivedAt?: string; at?: string; requestId: string }): string =>
  `${moment} ${requestId}`;

const listIds = (rows: readonly ListedRequest[]): string[] => rows.map(({ requestId }) => requestId);

test('running requests come first, then ended and refused ones by the time of their end', async () => {
  const sources = new Sources([billed(5), billed(1), billed(9, null)], [refused(3), refused(7)]);
  expect(listIds((await sources.page({})).requests)).toEqual(['billed-9', 'refused-7', 'billed-5', 'refused-3', 'billed-1']);
});

test('a refused request has what its client was told, and what refused it', async () => {
  const message = 'The project’s limit of 1 requests at once is reached.';
  const sources = new Sources([], [refused(3, { message, refusal: { by: 'project' } })]);
  expect((await sources.page({})).requests).toEqual([
    {
      ...{ ...ACCOUNT, requestId: 'refused-3', holdId: null, model: null, upstream: null, heldPicoUsd: null },
      ...{ reservedAt: at(3), settledAt: at(3), ending: 'refused', usage: null, costPicoUsd: null },
      ...{ status: 429, code: 'concurrency_limit', message, refusal: { by: 'project' } },
    },
  ]);
});

test('a failed request has the status and code that the panel recorded', async () => {
  const sources = new Sources([billed(1), billed(2, 'failed'), billed(3, 'client-disconnected'), billed(4, 'failed')], [], {
    'billed-2': { status: 502, code: 'upstream_error' },
    'billed-3': { status: 499, outcome: 'client-disconnected' },
  });
  const { requests } = await sources.page({});
  expect(requests.map(({ status, code }) => [status, code])).toEqual([
    [null, null],
    [499, 'client_disconnected'],
    [502, 'upstream_error'],
    [200, null],
  ]);
});

test('pages have every request once, in one order, however many of them were refused', async () => {
  const seconds = fc.array(fc.nat({ max: 12 }), { maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(seconds, seconds, fc.integer({ min: 1, max: 4 }), async (ended, turnedAway, limit) => {
      const rows = ended.map((second, place) => billed(second, 'completed', `billed-${place}`));
      const refusals = turnedAway.map((second, place) => refused(second, {}, `refused-${place}`));
      const found = (await new Sources([...rows, billed(13, null)], refusals).pages({ limit })).flat();
      const ids = [...rows, billed(13, null), ...refusals].map(({ requestId }) => requestId);
      expect(listIds(found).toSorted()).toEqual(ids.toSorted());
      const times = found.map(({ settledAt }) => settledAt ?? at(99));
      expect(times).toEqual(times.toSorted().toReversed());
    }),
  );
});

test('the oldest first: pages have every ended and refused request once, in that order, and no running one', async () => {
  const seconds = fc.array(fc.nat({ max: 12 }), { maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(seconds, seconds, fc.integer({ min: 1, max: 4 }), async (ended, turnedAway, limit) => {
      const rows = ended.map((second, place) => billed(second, 'completed', `billed-${place}`));
      const refusals = turnedAway.map((second, place) => refused(second, {}, `refused-${place}`));
      const found = (await new Sources([...rows, billed(13, null)], refusals).pages({ limit, order: 'asc' })).flat();
      expect(listIds(found).toSorted()).toEqual([...rows, ...refusals].map(({ requestId }) => requestId).toSorted());
      const times = found.map(({ settledAt }) => settledAt);
      expect(times).toEqual(times.toSorted());
    }),
  );
});

test('a list by cost asks billing alone, in that order', async () => {
  const sources = new Sources([billed(1)], [refused(2)]);
  const { requests } = await sources.page({ sort: 'cost', order: 'asc' });
  expect([listIds(requests), sources.asked]).toEqual([['billed-1'], [{ sort: 'cost', order: 'asc', limit: 100 }]]);
});

test('a list of refused requests asks billing nothing', async () => {
  const sources = new Sources([billed(1)], [refused(1), refused(2)]);
  expect([(await sources.pages({ ending: 'refused', limit: 1 })).map(listIds), sources.asked]).toEqual([
    [['refused-2'], ['refused-1']],
    [],
  ]);
});

test.each<[string, RequestListQuery, string[]]>([
  ['a code that refusals have', { code: 'concurrency_limit' }, ['refused-2']],
  ['a code that failures have', { code: 'upstream_error' }, ['billed-3']],
  ['a status', { status: 502 }, ['billed-3', 'refused-2']],
  ['the status of a complete reply', { status: 200 }, ['refused-2', 'billed-1']],
  ['a client that left', { code: 'client_disconnected' }, ['billed-4']],
  ['an ending', { ending: 'failed' }, ['billed-3']],
  ['a cost', { costMinPicoUsd: '1' }, ['billed-4', 'billed-3', 'billed-1']],
])('%s', async (_, query, ids) => {
  const sources = new Sources([billed(1), billed(3, 'failed'), billed(4, 'client-disconnected')], [refused(2)], {
    'billed-3': { status: 502, code: 'upstream_error' },
    'billed-4': { status: 499, outcome: 'client-disconnected' },
  });
  expect(listIds((await sources.pages(query)).flat())).toEqual(ids);
});

test('a code that few failures have is searched for over several pages of billing', async () => {
  const rows = Array.from({ length: 20 }, (_, second) => billed(second, 'failed'));
  const sources = new Sources(rows, [], { 'billed-2': { status: 504, code: 'upstream_timeout' } });
  const pages = await sources.pages({ code: 'upstream_timeout', limit: 2 });
  expect(pages.map(listIds)).toEqual([[], ['billed-2'], []]);
});

test('a page of billing without a match, by a filter that billing knows, is a page of the list', async () => {
  let asked = 0;
  const ask = async () => {
    asked++;
    return { requests: [], nextCursor: 'next', searchedTo: at(5) };
  };
  const records = { find: async () => new Map(), refusals: async () => ({ refusals: [], next: undefined }) };
  const reply = await listRequests({ ask } as never, records, { model: 'rare' });
  expect([reply, asked]).toEqual([{ requests: [], nextCursor: expect.any(String), searchedTo: at(5) }, 1]);
});

test.each(['', 'x', Buffer.from('["","","yesterday","x"]').toString('base64url'), Buffer.from('{}').toString('base64url')])(
  'a cursor that no page gave is refused: %j',
  async (cursor) => {
    await expect(new Sources([], []).page({ cursor })).rejects.toMatchObject({ code: 'invalid_request' });
  },
);

import type { SettleRequest } from '#contracts/billing/holds.js';
import type { RequestListRequest } from '#contracts/billing/requests.js';
import { type Customer, LedgerFixture, makeReserve, makeUsage } from '../../test/ledger-fixture.js';
import type { HoldLanes } from '../batch/hold-lanes.js';
import { listRequests } from './list-requests.js';

const START = Date.parse('2026-03-02T00:00:00Z');
const MINUTE_MS = 60_000;

let lanes: HoldLanes;
let customer: Customer;
let clock: number;
const ledger = await LedgerFixture.open();
beforeEach(async () => {
  customer = await ledger.customer({ topup: 1_000_000n });
  clock = START;
  lanes = ledger.newLanes({ now: () => clock });
});
afterAll(() => ledger.close());

/** Reserves, and settles some minutes later. A prompt token costs one pico-dollar. */
async function request(minutes: number, prompt: number, settle: Partial<SettleRequest> = {}): Promise<string> {
  const reserve = { ...makeReserve(customer, 100n), model: 'sim-fast' };
  await lanes.reserve(reserve);
  clock += minutes * MINUTE_MS;
  const { holdId, accountId } = reserve;
  await lanes.settle({ ...{ holdId, accountId, reason: 'completed', usage: makeUsage(prompt), upstream: 'local' }, ...settle });
  return holdId;
}

/** Returns the ids of every page. */
async function pages(filters: Partial<RequestListRequest>, sortMax?: number): Promise<string[][]> {
  const found: string[][] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const asked = { accountId: customer.accountId, to: '2030-01-01', ...filters, ...(cursor && { cursor }) };
    const page = await listRequests(ledger.prisma, asked, sortMax);
    found.push(page.requests.map(({ holdId }) => holdId));
    cursor = page.nextCursor;
  }
  return found;
}

test('by cost, duration and tokens, in both directions', async () => {
  const [a, b, c] = [await request(2, 5), await request(3, 9), await request(1, 7)];
  expect(await pages({ sort: 'cost' })).toEqual([[b, c, a]]);
  expect(await pages({ sort: 'cost', order: 'asc' })).toEqual([[a, c, b]]);
  expect(await pages({ sort: 'duration' })).toEqual([[b, a, c]]);
  expect(await pages({ sort: 'duration', order: 'asc' })).toEqual([[c, a, b]]);
  expect(await pages({ sort: 'promptTokens' })).toEqual([[b, c, a]]);
  expect(await pages({ sort: 'outputTokens', order: 'asc' })).toEqual([[a, b, c]]);
  expect(await pages({ sort: 'time', order: 'asc' })).toEqual([[a, b, c]]);
  expect(await pages({ sort: 'time', order: 'desc' })).toEqual([[c, b, a]]);
});

test('the newest first has running requests, every other order has none', async () => {
  const ended = await request(1, 1);
  const running = makeReserve(customer, 10n);
  await lanes.reserve(running);
  expect([await pages({ sort: 'time' }), await pages({ sort: 'cost' }), await pages({ order: 'asc' })]).toEqual([
    [[running.holdId, ended]],
    [[ended]],
    [[ended]],
  ]);
});

test('pages have every request once, also of equal costs', async () => {
  const all: string[] = [];
  for (const cost of [3, 1, 3, 3, 2, 1, 3]) all.push(await request(1, cost));
  const found = await pages({ sort: 'cost', limit: 2 });
  expect(found.map((page) => page.length)).toEqual([2, 2, 2, 1]);
  expect(found.flat()).toEqual([...all.filter((_, at) => [0, 2, 3, 6].includes(at)).toReversed(), all[4], all[5], all[1]]);
});

test('a request that ends after the first page is on none of the others', async () => {
  const [a, b] = [await request(1, 5), await request(1, 4)];
  const asked = { accountId: customer.accountId, sort: 'cost', limit: 1 } as const;
  const first = await listRequests(ledger.prisma, asked);
  // The list ends at the time of its first page.
  clock = Date.now() + MINUTE_MS;
  await request(0, 3);
  const second = await listRequests(ledger.prisma, { ...asked, cursor: first.nextCursor as string });
  const ids = [first, second].map(({ requests }) => requests.map(({ holdId }) => holdId));
  expect([ids, second.nextCursor]).toEqual([[[a], [b]], null]);
});

test('the cost and the tokens are those of the late settlement', async () => {
  const late = await request(1, 1, { reason: 'lease-expired' as 'completed' });
  const other = await request(1, 5);
  await lanes.settle({ holdId: late, accountId: customer.accountId, reason: 'completed', usage: makeUsage(7), upstream: 'b' });
  expect([await pages({ sort: 'cost' }), await pages({ sort: 'promptTokens' })]).toEqual([[[late, other]], [[late, other]]]);
});

test('filters apply, and the time', async () => {
  const [a, b] = [await request(1, 1), await request(1, 2)];
  const failed = await request(1, 9, { reason: 'failed' });
  expect(await pages({ sort: 'cost', ending: 'completed' })).toEqual([[b, a]]);
  expect(await pages({ sort: 'cost', costMinPicoUsd: '2' })).toEqual([[failed, b]]);
  expect(await pages({ sort: 'cost', from: '2026-03-02T00:02:00Z', to: '2026-03-02T00:03:00Z' })).toEqual([[b]]);
});

test('a time with more requests than may be sorted is refused, whatever the filters', async () => {
  for (const cost of [1, 2, 3]) await request(1, cost);
  expect(await pages({ sort: 'cost' }, 3)).toHaveLength(1);
  await expect(pages({ sort: 'cost', model: 'none' }, 2)).rejects.toMatchObject({
    code: 'invalid_request',
    param: 'from',
    message: 'The time has more than 2 requests, the most that can be sorted: choose a shorter time.',
  });
});

import { randomUUID } from 'node:crypto';
import type { SettleRequest } from '#contracts/billing/holds.js';
import type { RequestListRequest, RequestRow } from '#contracts/billing/requests.js';
import { type Customer, LedgerFixture, makeReserve, makeUsage } from '../../test/ledger-fixture.js';
import type { HoldLanes } from '../batch/hold-lanes.js';
import { listRequests } from './list-requests.js';

const START = Date.parse('2026-03-02T00:00:00Z');
const HOUR_MS = 3_600_000;

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

/** Reserves, and settles an hour later with one prompt token. */
async function request(settle: Partial<SettleRequest> = {}, model = 'sim-fast', who = customer): Promise<string> {
  const reserve = { ...makeReserve(who, 10n), model };
  await lanes.reserve(reserve);
  clock += HOUR_MS;
  await lanes.settle({
    holdId: reserve.holdId,
    accountId: who.accountId,
    reason: 'completed',
    usage: makeUsage(1),
    upstream: 'local',
    ...settle,
  });
  return reserve.holdId;
}

async function hold(who = customer): Promise<string> {
  const reserve = makeReserve(who, 10n);
  await lanes.reserve(reserve);
  return reserve.holdId;
}

/** Returns the ids of every page. */
async function pages(filters: Partial<RequestListRequest> = {}, readMax?: number): Promise<string[][]> {
  const found: string[][] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await listRequests(ledger.prisma, { accountId: customer.accountId, ...filters, ...(cursor && { cursor }) }, readMax);
    found.push(page.requests.map(({ holdId }) => holdId));
    cursor = page.nextCursor;
  }
  return found;
}

test('running requests come first, then ended ones, newest first, with what each used and cost', async () => {
  const ended = await request();
  const running = await hold();
  const row = { ...customer, model: 'sim-fast', heldPicoUsd: '10' };
  expect(await listRequests(ledger.prisma, { accountId: customer.accountId })).toEqual({
    requests: [
      {
        ...row,
        requestId: `req-${running}`,
        holdId: running,
        upstream: null,
        reservedAt: '2026-03-02T01:00:00.000Z',
        settledAt: null,
        ending: null,
        usage: null,
        costPicoUsd: null,
      },
      {
        ...row,
        requestId: `req-${ended}`,
        holdId: ended,
        upstream: 'local',
        reservedAt: '2026-03-02T00:00:00.000Z',
        settledAt: '2026-03-02T01:00:00.000Z',
        ending: 'completed',
        usage: makeUsage(1),
        costPicoUsd: '1',
      },
    ] satisfies RequestRow[],
    nextCursor: null,
    searchedTo: null,
  });
});

test('a request that was settled late is shown as it ended, in the place of its first settlement', async () => {
  const late = await request({ reason: 'lease-expired' as 'completed' });
  const next = await request();
  await lanes.settle({ holdId: late, accountId: customer.accountId, reason: 'completed', usage: makeUsage(7), upstream: 'b' });
  const { requests } = await listRequests(ledger.prisma, { accountId: customer.accountId });
  expect(
    requests.map(({ holdId, ending, upstream, costPicoUsd, settledAt }) => [holdId, ending, upstream, costPicoUsd, settledAt]),
  ).toEqual([
    [next, 'completed', 'local', '1', '2026-03-02T02:00:00.000Z'],
    [late, 'completed', 'b', '7', '2026-03-02T01:00:00.000Z'],
  ]);
  expect(await pages({ ending: 'lease-expired' })).toEqual([[]]);
  expect(await pages({ upstream: 'b' })).toEqual([[late]]);
});

test('pages have every ended request once, and running ones on the first page alone', async () => {
  const ended: string[] = [];
  for (let count = 0; count < 7; count++) {
    ended.unshift(await request());
    // Several requests that end at the same moment.
    if (count % 3 === 0) clock -= HOUR_MS;
  }
  const running = await hold();
  const found = await pages({ limit: 2 });
  expect(found.map((page) => page.length)).toEqual([3, 2, 2, 1]);
  expect(found.flat().toSorted()).toEqual([running, ...ended].toSorted());
  const rows = (await listRequests(ledger.prisma, { accountId: customer.accountId })).requests;
  expect(found.flat()).toEqual(rows.map(({ holdId }) => holdId));
});

test('a call reads back a bounded number of requests, and says how far', async () => {
  const wanted = await request({}, 'rare');
  for (let count = 0; count < 10; count++) await request();
  const filters = { accountId: customer.accountId, model: 'rare' };
  const first = await listRequests(ledger.prisma, filters, 4);
  expect(first).toEqual({ requests: [], nextCursor: expect.any(String), searchedTo: '2026-03-02T08:00:00.000Z' });
  expect(await pages(filters, 4)).toEqual([[], [], [wanted]]);
});

test('filters by time, project, key, model, upstream and ending', async () => {
  const other = await ledger.customer();
  await ledger.sql.query('UPDATE billing.project SET account_id = $1 WHERE id = $2', [customer.accountId, other.projectId]);
  const second = { ...other, accountId: customer.accountId };
  const [a, b, c, d] = [
    await request(),
    await request({ upstream: 'other' }, 'large'),
    await request({ reason: 'failed' }, 'sim-fast', second),
    await request({ reason: 'client-disconnected' }),
  ];
  const running = await hold(second);
  expect(await pages({ from: '2026-03-02T02:00:00Z', to: '2026-03-02T03:00:00Z' })).toEqual([[b]]);
  expect(await pages({ projectId: second.projectId })).toEqual([[running, c]]);
  expect(await pages({ keyId: customer.keyId })).toEqual([[d, b, a]]);
  expect(await pages({ model: 'large' })).toEqual([[b]]);
  expect(await pages({ upstream: 'other' })).toEqual([[b]]);
  expect(await pages({ ending: 'failed' })).toEqual([[c]]);
  expect(await pages({ ending: 'client-disconnected' })).toEqual([[d]]);
});

test('filters by user, tag, cost and duration', async () => {
  const attributed = async (attribution: Record<string, string>, tokens = 1, minutes = 1): Promise<string> => {
    const reserve = { ...makeReserve(customer, 10n), model: 'sim-fast', attribution };
    await lanes.reserve(reserve);
    clock += minutes * 60_000;
    const settle = { holdId: reserve.holdId, accountId: customer.accountId, reason: 'completed' as const };
    await lanes.settle({ ...settle, usage: makeUsage(tokens), upstream: 'local' });
    return reserve.holdId;
  };
  const [a, b, c] = [
    await attributed({ user: 'ada' }, 1, 1),
    await attributed({ user: 'bob', 'tag:team': 'search' }, 5, 2),
    await attributed({ 'tag:team': 'a=b' }, 9, 3),
  ];
  const running = makeReserve(customer, 10n);
  await lanes.reserve({ ...running, attribution: { user: 'ada', 'tag:team': 'search' } });
  expect(await pages({ user: 'ada' })).toEqual([[running.holdId, a]]);
  expect(await pages({ tag: 'team=search' })).toEqual([[running.holdId, b]]);
  expect(await pages({ tag: 'team=a=b' })).toEqual([[c]]);
  expect(await pages({ tag: 'team' })).toEqual([[running.holdId, c, b]]);
  expect(await pages({ costMinPicoUsd: '5' })).toEqual([[c, b]]);
  expect(await pages({ costMinPicoUsd: '2', costMaxPicoUsd: '8' })).toEqual([[b]]);
  expect(await pages({ tookMinMs: 120_000 })).toEqual([[c, b]]);
  expect(await pages({ tookMinMs: 61_000, tookMaxMs: 120_000 })).toEqual([[b]]);
});

test('a cost is that of the late settlement', async () => {
  const late = await request({ reason: 'lease-expired' as 'completed' });
  await lanes.settle({ holdId: late, accountId: customer.accountId, reason: 'completed', usage: makeUsage(7), upstream: 'b' });
  expect([await pages({ costMinPicoUsd: '7' }), await pages({ costMaxPicoUsd: '6' })]).toEqual([[[late]], [[]]]);
});

test('lists the requests of all accounts', async () => {
  const other = await ledger.customer({ topup: 100n });
  const [first, second] = [await request(), await request({}, 'sim-fast', other)];
  const { requests } = await listRequests(ledger.prisma, { to: '2030-01-01', limit: 200 });
  const listed = requests.map(({ holdId }) => holdId);
  expect(listed).toEqual(expect.arrayContaining([first, second]));
  expect(listed.indexOf(second)).toBeLessThan(listed.indexOf(first));
});

test('an unknown account and a cursor of other filters are refused', async () => {
  await expect(listRequests(ledger.prisma, { accountId: randomUUID() })).rejects.toMatchObject({ code: 'not_found', param: 'accountId' });
  await request();
  await request();
  const { accountId } = customer;
  const { nextCursor } = await listRequests(ledger.prisma, { accountId, limit: 1 });
  const wrong = listRequests(ledger.prisma, { accountId, limit: 1, model: 'x', cursor: nextCursor as string });
  await expect(wrong).rejects.toMatchObject({ code: 'invalid_request', param: 'cursor' });
});

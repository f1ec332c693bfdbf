import fc from 'fast-check';
import type { TokenUsage } from '#contracts/billing/holds.js';
import { MARGIN_GROUPS, type Margin, type MarginGroup, type MarginRow } from '#contracts/billing/margin.js';
import type { RouteCost } from '#contracts/route-costs.js';
import { renderListPrices } from '#money/list-prices.js';
import { computeCost, type Price } from '#money/price.js';
import { longOr } from '#testing/long-run.js';
import { type Customer, LedgerFixture } from '../../test/ledger-fixture.js';
import { pin, priceList, ratedRequest, rateRequest, settleRated, withoutImages } from '../../test/rated-requests.js';
import { marginMonth } from './margin-month.js';

/** The cost of a month is the sum of its requests at the cost prices of their days, as priceUsage has them. */

const ledger = await LedgerFixture.open();
const connection = await ledger.connect();
const lanes = ledger.newLanes({ times: { leaseMs: 60_000, reaperGraceMs: 0 } });
afterAll(() => ledger.close());

const UPSTREAMS = ['one', 'other'] as const;

/** Cost prices of a route: that before the month and that from its 15th on. Undefined: not known. */
const routeCosts = (list: fc.Arbitrary<Price>) => fc.tuple(fc.option(list, { freq: 4, nil: undefined }), fc.option(list, { freq: 4, nil: undefined })); // biome-ignore format: one line
const allCosts = (list: fc.Arbitrary<Price>) => fc.array(fc.tuple(routeCosts(list), routeCosts(list)), { minLength: 3, maxLength: 3 });
const placed = fc.record({ made: ratedRequest, upstream: fc.nat(1), day: fc.integer({ min: 13, max: 16 }), lateDays: fc.nat(2) });
const history = fc.record({
  costs: fc.oneof(
    allCosts(priceList),
    allCosts(withoutImages),
    allCosts(withoutImages.map(({ steps, tiers, requestPicoUsd, ...flat }) => flat)),
  ),
  requests: fc.array(placed, { minLength: 25, maxLength: 25, size: 'max' }),
});

type Placed = typeof placed extends fc.Arbitrary<infer Made> ? Made : never;

/** One row of usage: a settlement, or one of the two rows of a late one. */
interface Entry {
  account: Customer;
  model: string;
  upstream: string | null;
  ending: string;
  day: string;
  sign: number;
  usage: TokenUsage;
  charged: bigint;
  /** Undefined: no cost price. */
  paid: { cost: bigint; imagesUnknown: boolean } | undefined;
}

test('a margin is the sum of the requests of its group, from the journal and from the rollups', async () => {
  const histories = fc.sample(history, { seed: 2026, numRuns: longOr(4, 40) });
  for (const [run, { costs, requests }] of histories.entries()) {
    const month = `${2100 + run}-06`;
    const customers = [await ledger.customer({ topup: 10n ** 12n }), await ledger.customer({ topup: 10n ** 12n })];
    const modelId = (model: number): string => `model-${run}-${model}`;
    const entries: Entry[] = [];
    for (const request of requests) {
      const account = customers[request.made.account] as Customer;
      const upstream = UPSTREAMS[request.upstream] as string;
      const holdId = await settleRated({ ledger, lanes, connection }, account, modelId(request.made.model), request.made, upstream);
      const [day, lateDay] = [request.day, request.day + request.lateDays].map((number) => `${month}-${number}`) as [string, string];
      await moveTo(holdId, day, lateDay);
      const paidOn = (number: number) => costs[request.made.model]?.[request.upstream as 0 | 1][number < 15 ? 0 : 1];
      entries.push(...listEntries(request, { account, model: modelId(request.made.model), day, lateDay }, upstream, paidOn));
    }
    const asked = costs.flatMap((ofModel, model) =>
      ofModel.flatMap(([before, after], upstream): RouteCost[] => [
        {
          model: modelId(model),
          upstream: UPSTREAMS[upstream] as string,
          fromDay: `${month}-15`,
          ...(after && { price: renderListPrices(after) }),
        },
        { model: modelId(model), upstream: UPSTREAMS[upstream] as string, fromDay: `${2100 + run}-05-31`, ...(before && { price: renderListPrices(before) }) }, // biome-ignore format: one line
      ]),
    );
    for (const source of ['journal', 'rollups']) {
      if (source === 'rollups') await ledger.closeUsage();
      for (const by of MARGIN_GROUPS) {
        const { rows, ...rest } = await marginMonth(connection, { month, by, costs: asked });
        const expected = expectedMargin(by, entries);
        expect({ source, run, by, rows: rows.toSorted(inOrder(by)), ...rest }).toEqual({ source, run, by, ...expected });
      }
    }
  }
  expect(await ledger.violations()).toEqual([]);
});

/** Makes the settlements of a hold as of these days. */
async function moveTo(holdId: string, day: string, lateDay: string): Promise<void> {
  await ledger.sql.query('SET session_replication_role = replica');
  await ledger.sql.query('UPDATE billing.settlement SET settled_at = $2 WHERE hold_id = $1', [holdId, `${day}T23:59:59.9Z`]);
  await ledger.sql.query('UPDATE billing.late_settlement SET settled_at = $2 WHERE hold_id = $1', [holdId, `${lateDay}T00:00:00Z`]);
  await ledger.sql.query('SET session_replication_role = DEFAULT');
}

function listEntries(
  { made, day: number, lateDays }: Placed,
  { account, model, day, lateDay }: { account: Customer; model: string; day: string; lateDay: string },
  upstream: string,
  paidOn: (day: number) => Price | undefined,
): Entry[] {
  const charge = (usage: TokenUsage): bigint => computeCost(usage, pin(made));
  const list = paidOn(made.late ? number + lateDays : number);
  const usage = made.late ?? made.first;
  const completed = {
    account,
    model,
    upstream,
    ending: 'completed',
    sign: 1,
    usage,
    charged: charge(usage),
    paid: list && rateRequest(made, list),
  };
  if (!made.late) return [{ ...completed, day }];
  // The reaper does not know the upstream.
  const reaped = { account, model, upstream: null, ending: 'lease-expired', usage: made.first, paid: undefined };
  return [
    { ...reaped, day, sign: 1, charged: charge(made.first) },
    { ...reaped, day: lateDay, sign: -1, charged: -charge(made.first) },
    { ...completed, day: lateDay },
  ];
}

function expectedMargin(by: MarginGroup, entries: readonly Entry[]) {
  const group = ({ account, model, upstream, day }: Entry): Partial<MarginRow> =>
    ({ model: { model }, account: { accountId: account.accountId, name: 'test' }, upstream: { upstream }, day: { day } })[by];
  const groups = [...Map.groupBy(entries, (entry) => JSON.stringify(group(entry))).values()];
  return {
    rows: groups.map((inGroup): MarginRow => ({ ...group(inGroup[0] as Entry), ...sum(inGroup) })).toSorted(inOrder(by)),
    rowCount: groups.length,
    total: sum(entries),
    imagesUnknown: entries.filter(({ paid }) => paid?.imagesUnknown).length,
  };
}

function sum(entries: readonly Entry[]): Margin {
  const money = (of: (entry: Entry) => bigint): bigint => entries.reduce((total, entry) => total + of(entry), 0n);
  const charged = money((entry) => entry.charged);
  const cost = money(({ paid }) => paid?.cost ?? 0n);
  const unpriced = entries.filter(({ paid }) => paid === undefined);
  const alike = Map.groupBy(unpriced, ({ account, model, upstream, ending, day }) =>
    JSON.stringify([account.accountId, model, upstream, ending, day]),
  );
  const count = (counted: readonly Entry[], of: (entry: Entry) => number = () => 1): number =>
    counted.reduce((total, entry) => total + entry.sign * of(entry), 0);
  const isUsed = (those: readonly Entry[]): boolean =>
    count(those, ({ usage }) => usage.promptTokens) !== 0 || count(those, ({ usage }) => usage.outputTokens) !== 0;
  return {
    requests: count(entries),
    chargedPicoUsd: String(charged),
    costPicoUsd: String(cost),
    marginPicoUsd: String(charged - cost),
    unpricedRequests: [...alike.values()].reduce((total, those) => total + (isUsed(those) ? count(those) : 0), 0),
    unpricedChargedPicoUsd: String(unpriced.reduce((total, entry) => total + entry.charged, 0n)),
  };
}

/** Days are in their order; other groups of one charge in any. */
function inOrder(by: MarginGroup): (one: MarginRow, other: MarginRow) => number {
  const key = ({ model, accountId, upstream, day }: MarginRow): string => model ?? accountId ?? upstream ?? day ?? '';
  const compare = (one: MarginRow, other: MarginRow): number => (key(one) < key(other) ? -1 : 1);
  if (by === 'day') return compare;
  return (one, other) => Number(BigInt(other.chargedPicoUsd) - BigInt(one.chargedPicoUsd)) || compare(one, other);
}

test('a month without usage has no rows', async () => {
  const total = {
    requests: 0,
    chargedPicoUsd: '0',
    costPicoUsd: '0',
    marginPicoUsd: '0',
    unpricedRequests: 0,
    unpricedChargedPicoUsd: '0',
  };
  expect(await marginMonth(connection, { month: '2050-01', by: 'model', costs: [] })).toEqual({
    rows: [],
    rowCount: 0,
    total,
    imagesUnknown: 0,
  });
});

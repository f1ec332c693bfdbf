import fc from 'fast-check';
import type { TokenUsage } from '#contracts/billing/holds.js';
import type { UsageRerateRequest } from '#contracts/billing/rerate.js';
import { renderListPrices } from '#money/list-prices.js';
import type { Price } from '#money/price.js';
import { planPricing, renderPriceText } from '#money/price-plan.js';
import { longOr } from '#testing/long-run.js';
import { type Customer, LedgerFixture, makeReserve, makeUsage } from '../../test/ledger-fixture.js';
import { priceList, ratedRequest, rateRequest, settleRated, withoutImages } from '../../test/rated-requests.js';
import type { HoldLanes } from '../batch/hold-lanes.js';
import { rerateMonth } from './rerate-month.js';

/** A month at other prices is the sum of its requests at these, as priceUsage has them. */

const ledger = await LedgerFixture.open();
const connection = await ledger.connect();
const lanes = ledger.newLanes({ times: { leaseMs: 60_000, reaperGraceMs: 0 } });
afterAll(() => ledger.close());

const lists = (one: fc.Arbitrary<Price>) => fc.array(one, { minLength: 3, maxLength: 3 });
const history = fc.record({
  prices: fc.oneof(fc.tuple(lists(priceList), lists(priceList)), fc.tuple(lists(withoutImages), lists(withoutImages))),
  requests: fc.array(ratedRequest, { minLength: 25, maxLength: 25, size: 'max' }),
});

const month = (): string => new Date().toISOString().slice(0, 7);
const modelId = (run: number, model: number): string => `model-${run}-${model}`;

const PLAN = { id: 'partner', discountPercent: '12.5', models: [] };

test('a month at other prices is the sum of its requests, from the journal and from the rollups [price-plan-month]', async () => {
  const histories = fc.sample(history, { seed: 2026, numRuns: longOr(3, 40) });
  for (const [
    run,
    {
      prices: [before, after],
      requests,
    },
  ] of histories.entries()) {
    const customers = [await ledger.customer({ topup: 10n ** 12n }), await ledger.customer({ topup: 10n ** 12n })];
    await ledger.sql.query(`UPDATE billing.account SET price_plan = 'partner' WHERE id = $1`, [customers[1]?.accountId]);
    for (const made of requests)
      await settleRated({ ledger, lanes, connection }, customers[made.account] as Customer, modelId(run, made.model), made);
    const own = { id: modelId(run, 0), price: renderListPrices(before[0] as Price) };
    const asked: UsageRerateRequest = {
      month: month(),
      prices: {
        models: [0, 1, 2].map((model) => ({
          id: modelId(run, model),
          before: renderListPrices(before[model] as Price),
          after: renderListPrices(after[model] as Price),
        })),
        plansBefore: [],
        plansAfter: [{ ...PLAN, models: [own] }],
      },
    };
    const plan = planPricing({ ...PLAN, models: [{ id: own.id, price: renderPriceText(before[0] as Price) }] });
    const sums = customers.map((_, account) => {
      const total = { requests: 0, before: 0n, after: 0n, unknown: [0, 0] as [number, number] };
      for (const made of requests.filter((one) => one.account === account)) {
        const id = modelId(run, made.model);
        const list = after[made.model] as Price;
        const rated = [rateRequest(made, before[made.model] as Price), rateRequest(made, account === 1 ? plan(id, list) : list)] as const;
        total.requests += 1;
        total.before += rated[0].cost;
        total.after += rated[1].cost;
        for (const side of [0, 1] as const) total.unknown[side] += rated[side].imagesUnknown ? 1 : 0;
      }
      return {
        accountId: customers[account]?.accountId,
        name: 'test',
        requests: total.requests,
        ...texts(total),
        unknown: Math.max(...total.unknown),
      };
    });
    const expected = sums.map(({ unknown: _, ...row }) => row).sort(byId);
    const imagesUnknown = sums.reduce((sum, { unknown }) => sum + unknown, 0);
    for (const source of ['journal', 'rollups']) {
      if (source === 'rollups') await ledger.closeUsage();
      const { accounts, total, ...rest } = await rerateMonth(connection, asked);
      expect({ source, run, accounts: accounts.map(withoutCharge).sort(byId), ...rest }).toEqual({
        ...{ source, run, accounts: expected, accountCount: 2, imagesUnknown },
      });
      expect(BigInt(total.afterPicoUsd)).toBe(sums.reduce((sum, { afterPicoUsd }) => sum + BigInt(afterPicoUsd), 0n));
    }
  }
  expect(await ledger.violations()).toEqual([]);
});

const texts = ({ before, after }: { before: bigint; after: bigint }) => ({ beforePicoUsd: String(before), afterPicoUsd: String(after) });
const withoutCharge = <Row extends { chargedPicoUsd: string }>({ chargedPicoUsd: _, ...row }: Row) => row;
const byId = (one: { accountId?: string | undefined }, other: { accountId?: string | undefined }) =>
  String(one.accountId) < String(other.accountId) ? -1 : 1;

describe('flat prices', () => {
  const price = { inputUsdPerMTok: '0.000001', cachedInputUsdPerMTok: '0', outputUsdPerMTok: '0.000002' };
  const asked = (after: object): UsageRerateRequest => ({
    month: month(),
    prices: { models: [{ id: 'plain', before: price, after: { ...price, ...after } }], plansBefore: [], plansAfter: [] },
  });

  test('the largest change is first, with what was charged, and other models do not count', async () => {
    const customers = [await ledger.customer({ topup: 1_000n }), await ledger.customer({ topup: 1_000n })];
    const reserves = [
      { ...makeReserve(customers[0] as Customer, 100n), model: 'plain' },
      { ...makeReserve(customers[1] as Customer, 100n), model: 'plain' },
      { ...makeReserve(customers[1] as Customer, 100n), model: 'another' },
    ];
    const usages = [makeUsage(10), makeUsage(20, 5), makeUsage(7)];
    for (const [index, reserve] of reserves.entries()) {
      await lanes.reserve(reserve);
      await end(lanes, reserve.holdId, reserve.accountId, usages[index]);
    }
    const all = { requests: 2, chargedPicoUsd: '40', beforePicoUsd: '40', afterPicoUsd: '70' };
    expect(await rerateMonth(connection, asked({ inputUsdPerMTok: '0.000002' }))).toEqual({
      accounts: [
        ...[
          { accountId: customers[1]?.accountId, name: 'test', requests: 1, chargedPicoUsd: '30', beforePicoUsd: '30', afterPicoUsd: '50' },
        ],
        ...[
          { accountId: customers[0]?.accountId, name: 'test', requests: 1, chargedPicoUsd: '10', beforePicoUsd: '10', afterPicoUsd: '20' },
        ],
      ],
      accountCount: 2,
      total: all,
      imagesUnknown: 0,
    });
  });

  test('the models have no usage', async () => {
    const none = { requests: 0, chargedPicoUsd: '0', beforePicoUsd: '0', afterPicoUsd: '0' };
    expect(await rerateMonth(connection, { ...asked({}), month: '2020-01' })).toEqual({
      ...{ accounts: [], accountCount: 0, total: none, imagesUnknown: 0 },
    });
  });
});

async function end(by: HoldLanes, holdId: string, accountId: string, usage: TokenUsage | undefined): Promise<void> {
  expect(await by.settle({ holdId, accountId, reason: 'completed', usage, settledBy: 'gateway' })).toMatchObject({ status: 'settled' });
}

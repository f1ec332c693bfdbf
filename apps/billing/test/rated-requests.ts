import fc from 'fast-check';
import type { TokenUsage } from '#contracts/billing/holds.js';
import type { PgConnection } from '#database/pg-connection.js';
import { type Price, priceUsage } from '#money/price.js';
import { renderPriceText } from '#money/price-plan.js';
import type { HoldLanes } from '../src/batch/hold-lanes.js';
import { renewHolds } from '../src/holds/renew.js';
import { type Customer, type LedgerFixture, makeReserve, makeUsage } from './ledger-fixture.js';

/** Requests with usage and prices of every kind, and what they cost at other prices, one by one. */

const amount = fc.bigInt({ min: 0n, max: 30n });
const tokenPrices = fc.record(
  { inputPicoUsd: amount, cachedInputPicoUsd: amount, cacheWritePicoUsd: amount, cacheWrite1hPicoUsd: amount },
  { requiredKeys: ['inputPicoUsd', 'cachedInputPicoUsd'] },
);
const steps = fc
  .array(fc.tuple(tokenPrices, fc.constantFrom('whole' as const, 'excess' as const)), { minLength: 1, maxLength: 3 })
  .map((list) => list.map(([prices, reprices], index) => ({ above: 10 * (index + 1), reprices, ...prices })));
const ruled = fc
  .tuple(tokenPrices, amount, fc.option(steps, { nil: undefined }))
  .map(([prices, outputPicoUsd, steps]) => ({ ...prices, outputPicoUsd, ...(steps && { steps }) }));
const images = fc.constantFrom<Pick<Price, 'imagePicoUsd' | 'imageSteps'>>(
  {},
  { imagePicoUsd: 7n },
  { imagePicoUsd: 5n, imageSteps: [{ aboveBytes: 9, imagePicoUsd: 11n }, { aboveBytes: 20, imagePicoUsd: 13n }] }, // biome-ignore format: one line
);
export const priceList: fc.Arbitrary<Price> = fc
  .tuple(ruled, fc.option(ruled, { nil: undefined }), fc.option(fc.constant(17n), { nil: undefined }), images)
  .map(([prices, flex, requestPicoUsd, images]) => ({
    ...prices,
    ...(flex && { tiers: [{ tier: 'flex', ...flex }] }),
    ...(requestPicoUsd && { requestPicoUsd }),
    ...images,
  }));
const tokens: fc.Arbitrary<TokenUsage> = fc
  .record({
    ...{ prompt: fc.integer({ min: 0, max: 45 }), output: fc.nat(9), cached: fc.nat(9), written: fc.nat(9), written1h: fc.nat(9) },
    tier: fc.constantFrom(undefined, undefined, 'flex', 'other'),
  })
  .map(({ prompt, output, cached, written, written1h, tier }) => {
    const fits = cached + written + written1h <= prompt;
    const writes = { ...(written > 0 && { cacheWriteTokens: written }), ...(written1h > 0 && { cacheWrite1hTokens: written1h }) };
    return { ...makeUsage(prompt, output, fits ? cached : 0), ...(fits && writes), ...(tier && { tier }) };
  });
const usage = fc.oneof({ weight: 5, arbitrary: tokens }, { weight: 1, arbitrary: fc.constant(makeUsage(0)) });
export const ratedRequest = fc.record({
  ...{ model: fc.nat(2), account: fc.nat(1), first: usage, late: fc.option(usage, { freq: 3, nil: undefined }) },
  pinned: priceList,
  counts: fc.tuple(fc.nat(2), fc.nat(2), fc.nat(2)),
});
/** Few requests have the same images, so that more of them are added up at prices without any. */
export const withoutImages = priceList.map(({ imagePicoUsd: _, imageSteps: __, ...price }) => price);

type RatedRequest = typeof ratedRequest extends fc.Arbitrary<infer Made> ? Made : never;

/** Puts the images of a request into its price; classes without an image have no number. */
export function pin({ pinned, counts: [small, ...inClass] }: RatedRequest): Price {
  return {
    ...pinned,
    ...(pinned.imagePicoUsd !== undefined && small > 0 && { images: small }),
    ...(pinned.imageSteps && {
      imageSteps: pinned.imageSteps.map((step, index) => ({ ...step, ...(inClass[index] && { images: inClass[index] }) })),
    }),
  };
}

interface SettleDependencies {
  ledger: LedgerFixture;
  lanes: HoldLanes;
  connection: PgConnection;
}

/** Settles a request, by the reaper and late if it has a late usage. Returns its hold. */
export async function settleRated(
  { ledger, lanes, connection }: SettleDependencies,
  customer: Customer,
  model: string,
  made: RatedRequest,
  upstream?: string,
): Promise<string> {
  const price = { version: 1, ...renderPriceText(pin(made)) };
  const reserve = { ...makeReserve(customer, 1_000_000n), model, price };
  const { holdId, accountId } = reserve;
  expect(await lanes.reserve(reserve)).toMatchObject({ status: 'held' });
  const ending = { holdId, accountId, settledBy: 'gateway' as const, ...(upstream && { upstream }) };
  if (made.late) {
    await renewHolds(connection, [{ holdId, sequence: 1, usage: made.first }], 60_000);
    await ledger.sql.query(`UPDATE billing.hold SET lease_until = clock_timestamp() - interval '1 second' WHERE id = $1`, [holdId]);
    await lanes.settle({ holdId, accountId, reason: 'lease-expired' });
  }
  expect(await lanes.settle({ ...ending, reason: 'completed', usage: made.late ?? made.first })).toMatchObject({ status: 'settled' });
  return holdId;
}

/** Prices a request at another list, with its images as far as its own price had them. */
export function rateRequest(made: RatedRequest, other: Price): { cost: bigint; imagesUnknown: boolean } {
  const { images = 0, imageSteps, imagePicoUsd } = pin(made);
  const used = made.late ?? made.first;
  const { imagePicoUsd: _, imageSteps: classes, ...rest } = other;
  const hasNone = imagePicoUsd !== undefined && images === 0 && imageSteps === undefined;
  const isKnown =
    hasNone || ((other.imagePicoUsd === undefined || imagePicoUsd !== undefined) && (classes === undefined || imageSteps !== undefined));
  const inClasses = (imageSteps ?? []).reduce((sum, step) => sum + (step.images ?? 0), 0);
  const priced: Price = {
    ...rest,
    ...(other.imagePicoUsd !== undefined && { imagePicoUsd: other.imagePicoUsd, images: images + (classes ? 0 : inClasses) }),
    ...(classes && { imageSteps: classes.map((step, index) => ({ ...step, images: imageSteps?.[index]?.images ?? 0 })) }),
  };
  return { cost: priceUsage(used, isKnown ? priced : rest).cost, imagesUnknown: !isKnown && used.promptTokens + used.outputTokens > 0 };
}

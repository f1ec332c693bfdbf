import { IsOptional, Matches } from 'class-validator';
import { USD_EACH, USD_PER_MILLION } from '#money/price.js';
import { Id, Instant, Nested, NestedList, PRICE_PLAN_LENGTH_MAX, Text } from './billing/fields.js';
import { EmptyRequest, type ModelPrices } from './catalog.js';
import { Endpoint } from './endpoint.js';
import { ListImageStep, ListStep, ListTier } from './price-rules.js';
import { REASON_LENGTH_MAX } from './rules/bounds.js';
import { PRICE_STEPS_MAX, PRICE_TIERS_MAX } from './rules/price-rules.js';

/** Prices in USD per million tokens, such as `"0.15"`, and per request and image, with the names of the catalog file. */
export class ListPrices {
  @Matches(USD_PER_MILLION) inputUsdPerMTok!: string;
  @Matches(USD_PER_MILLION) cachedInputUsdPerMTok!: string;
  /** Tokens that the upstream writes to its cache for 5 minutes. Default: `inputUsdPerMTok`. */
  @IsOptional() @Matches(USD_PER_MILLION) cacheWriteUsdPerMTok?: string;
  /** As `cacheWriteUsdPerMTok`, for an hour. Default: `cacheWriteUsdPerMTok`. */
  @IsOptional() @Matches(USD_PER_MILLION) cacheWrite1hUsdPerMTok?: string;
  @Matches(USD_PER_MILLION) outputUsdPerMTok!: string;
  /** USD per request, such as `"0.01"`. Default: none. */
  @IsOptional() @Matches(USD_EACH) requestUsd?: string;
  /** USD per image of a prompt. Default: none. */
  @IsOptional() @Matches(USD_EACH) imageUsd?: string;
  /** Other prices from a size of the prompt on, by ascending `above`. Default: none. */
  @IsOptional() @NestedList(() => ListStep, PRICE_STEPS_MAX) steps?: ListStep[];
  /** Prices by the tier that the upstream says it served. Default: none. */
  @IsOptional() @NestedList(() => ListTier, PRICE_TIERS_MAX) tiers?: ListTier[];
  /** Prices of larger images, by ascending `aboveBytes`. Default: none. */
  @IsOptional() @NestedList(() => ListImageStep, PRICE_STEPS_MAX) imageSteps?: ListImageStep[];
}

export class PriceScheduleRequest {
  /** Repeating it with the same id schedules one price. Default: a new id. */
  @IsOptional() @Id() scheduledPriceId?: string;
  /** Id of an enabled model. */
  @Text(256) model!: string;
  @Nested(() => ListPrices) price!: ListPrices;
  /** In the future. Requests that are held after it have the price, once the revision has reached the gateways. */
  @Instant() effectiveAt!: string;
  /** Why, for the journal and the history of the catalog. */
  @IsOptional() @Text(REASON_LENGTH_MAX) reason?: string;
}

export interface ScheduledPrice {
  scheduledPriceId: string;
  model: string;
  price: ModelPrices;
  effectiveAt: string;
  /** Null: none was given. */
  reason: string | null;
  createdAt: string;
  /** Revision that it made. Null before its time. */
  revision: number | null;
  /** Null unless it was cancelled. */
  cancelledAt: string | null;
}

/** Scheduled prices that may wait at once. */
export const SCHEDULED_PRICES_MAX = 1_000;

/**
 * At its time one replica applies the price as a revision; a time that was missed, when the service starts. A catalog file that is applied
 * later sets the prices of the models that it names, and leaves scheduled prices as they are.
 *
 * Errors: `not_found` for a model that is not enabled; `conflict` for an id that was used for another price, for a second price of the model at
 * the same time, when 1,000 wait, and when `CATALOG_EDITING` is off.
 */
export const priceSchedule = new Endpoint<PriceScheduleRequest, ScheduledPrice>('catalog.v1.price.schedule', PriceScheduleRequest, {
  about: 'Schedules a price of a model',
  isRecorded: true,
});

export interface PriceListReply {
  /** Prices that are neither applied nor cancelled, soonest first. */
  prices: ScheduledPrice[];
}

export const priceList = new Endpoint<EmptyRequest, PriceListReply>('catalog.v1.price.list', EmptyRequest, {
  about: 'Scheduled prices that wait for their time, soonest first',
});

export class PriceCancelRequest {
  @Id() scheduledPriceId!: string;
}

/** Idempotent. Errors: `not_found`; `conflict` for a price that is applied. */
export const priceCancel = new Endpoint<PriceCancelRequest, ScheduledPrice>('catalog.v1.price.cancel', PriceCancelRequest, {
  about: 'Cancels a scheduled price before its time',
  isRecorded: true,
});

export class PriceShowRequest {
  /** Price plan. Default: list prices. */
  @IsOptional() @Text(PRICE_PLAN_LENGTH_MAX) pricePlan?: string;
  /**
   * Moment of the prices. Default: now. Earlier: those of the revision that was in force. Later: those of now, with the prices that are scheduled
   * until then.
   */
  @IsOptional() @Instant() at?: string;
}

export interface ShownPrice {
  model: string;
  price: ModelPrices;
  /** The price without the plan. */
  list: ModelPrices;
}

export interface PriceShowReply {
  /** The revision that was in force; the current one for a moment ahead. */
  revision: number;
  at: string;
  /** The plan of the request. Null: list prices. */
  pricePlan: string | null;
  /** Present when the catalog does not have the plan at that moment: the prices are list prices. */
  planIsMissing?: true;
  /** Enabled models, in the order of the file. */
  prices: ShownPrice[];
}

/** Errors: `not_found` for a moment before the first revision, and for a revision whose text was not stored. */
export const priceShow = new Endpoint<PriceShowRequest, PriceShowReply>('catalog.v1.price.show', PriceShowRequest, {
  about: 'Prices of all models at list prices or in a price plan, now or at another time',
});

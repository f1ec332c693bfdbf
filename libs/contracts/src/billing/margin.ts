import { IsIn, Matches } from 'class-validator';
import { Endpoint } from '../endpoint.js';
import { RouteCost } from '../route-costs.js';
import { NestedList } from './fields.js';
import { MONTH, MONTH_MESSAGE } from './months.js';

/** Fields that margins are grouped by. Days are in UTC. */
export const MARGIN_GROUPS = ['model', 'account', 'upstream', 'day'] as const;
export type MarginGroup = (typeof MARGIN_GROUPS)[number];

const COSTS_MAX = 100_000;

export class MarginQuestion {
  /** Month in UTC. Requests count on the day on which they were settled. */
  @Matches(MONTH, { message: MONTH_MESSAGE }) month!: string;
  @IsIn(MARGIN_GROUPS) by!: MarginGroup;
}

export class UsageMarginRequest extends MarginQuestion {
  /** As `catalog.v1.cost.list` has them. */
  @NestedList(() => RouteCost, COSTS_MAX) costs!: RouteCost[];
}

/** Amounts that usage was charged and that it cost, at the cost prices of its days. */
export interface Margin {
  requests: number;
  /** As it was charged. */
  chargedPicoUsd: string;
  /** Cost of the requests with a cost price. */
  costPicoUsd: string;
  /** `chargedPicoUsd` less `costPicoUsd`: too high while something is unpriced. */
  marginPicoUsd: string;
  /**
   * Requests with usage whose model and upstream have no cost price on their day. Sums do not tell one without usage from others of the same
   * account, model, upstream, ending and day: it counts along.
   */
  unpricedRequests: number;
  /** Part of `chargedPicoUsd` for which no cost is known. */
  unpricedChargedPicoUsd: string;
}

/** One group: one of `model`, `accountId`, `upstream` and `day` is present. */
export interface MarginRow extends Margin {
  model?: string;
  accountId?: string;
  /** Name of the account. */
  name?: string;
  /** Null: the request reached none, or the service that knows it did not settle. */
  upstream?: string | null;
  /** Such as `2027-01-31`. */
  day?: string;
}

export interface UsageMarginReply {
  /** Days in their order, other groups with the largest charge first; at most 2,000. */
  rows: MarginRow[];
  /** Groups, also those beyond 2,000. */
  rowCount: number;
  /** The sum of all groups. */
  total: Margin;
  /** Requests at a cost price for images whose number the journal does not have: they are counted without images. */
  imagesUnknown: number;
}

/**
 * A late settlement counts on its own day, on which it takes back what the reaper's counted. Tiers and images are those that the journal has:
 * it keeps them where the price of the model has some too.
 *
 * Cost prices without steps, tiers, request and image prices need the rollups alone; others also the journal, which takes seconds for each ten
 * million settlements: call with a timeout of minutes. Error: `conflict` when rows of the month are detached and needed.
 */
export const usageMargin = new Endpoint<UsageMarginRequest, UsageMarginReply>('billing.v1.usage.margin', UsageMarginRequest, {
  about: 'What the usage of a month was charged and what it cost at cost prices, by model, account, upstream or day; changes nothing',
});

import { Matches } from 'class-validator';
import { Endpoint } from '../endpoint.js';
import { PriceComparison } from '../price-comparison.js';
import { Nested } from './fields.js';
import { MONTH, MONTH_MESSAGE } from './months.js';

export class UsageRerateRequest {
  /** Month in UTC. Requests count in the month in which they were settled. */
  @Matches(MONTH, { message: MONTH_MESSAGE }) month!: string;
  @Nested(() => PriceComparison) prices!: PriceComparison;
}

/** Usage of an account in the models that are compared, at three prices. */
export interface RatedUsage {
  requests: number;
  /** As it was charged. */
  chargedPicoUsd: string;
  /** At the prices before and after, with the price plan that the account has now. No hold limits these. */
  beforePicoUsd: string;
  afterPicoUsd: string;
}

export interface RatedAccount extends RatedUsage {
  accountId: string;
  name: string;
}

export interface UsageRerateReply {
  /** Accounts that used the models, those with the largest change first; at most 2,000. */
  accounts: RatedAccount[];
  /** Accounts that used the models. */
  accountCount: number;
  /** The sum of all accounts. */
  total: RatedUsage;
  /** Requests whose number of images the journal does not have, at the prices of one catalog: they are rated without images. */
  imagesUnknown: number;
}

/**
 * Prices without steps, tiers and images need the rollups alone; others also the journal, which takes seconds for each ten million settlements:
 * call with a timeout of minutes. Error: `conflict` when rows of the month are detached and needed.
 */
export const usageRerate = new Endpoint<UsageRerateRequest, UsageRerateReply>('billing.v1.usage.rerate', UsageRerateRequest, {
  about: 'What the usage of a month costs each account at the prices of two catalogs; changes nothing',
});

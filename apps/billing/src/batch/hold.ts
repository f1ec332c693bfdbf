import type { Attribution } from '#contracts/billing/attribution.js';
import { ESTIMATED_SOURCES, type TokenUsage } from '#contracts/billing/holds.js';
import { promptUsage } from '#inference/usage.js';
import { type Price, priceUsage } from '#money/price.js';
import type { Charge } from '../balance/funds.js';

/**
 * An open hold: a row of `billing.hold`. A closed one is a row of `billing.settlement`. A hold is never both, and never opens again. A
 * tombstone is a hold that was closed before it was opened.
 */
export interface Hold {
  holdId: string;
  accountId: string;
  projectId: string;
  /** First key of the rotations that made its key: budgets and limits are of it. */
  rootKeyId: string;
  /** Milliseconds. The hold counts in the budgets whose window had begun. */
  createdAt: number;
  amount: bigint;
  /** The most tokens that the request can use, held by budgets of tokens. Absent: not known. */
  amountTokens?: number;
  planPart: bigint;
  grantId: string | null;
  /** Tokens that it counts as towards limits of tokens per minute. Absent: none. */
  tokens?: number;
  /** With `tokens`: some limits are by model. */
  model?: string;
  /** User and tags that it counts for in budgets. Absent: none, or the account has no budgets. */
  attribution?: Attribution | undefined;
  /** The service whose item it is for. Absent: it is for a request to a model. */
  service?: string;
  /** Fixed at the reserve: a price change never affects a running request. */
  price: Price;
  /** The last meter reading, billed by the reaper. Undefined before the first. */
  meter: TokenUsage | undefined;
  /** Milliseconds. */
  leaseUntil: number;
}

/** A hold that the reaper ended, with what a late settlement needs. */
export interface ReapedHold {
  accountId: string;
  projectId: string;
  rootKeyId: string;
  attribution?: Attribution | undefined;
  /** As in `Hold`. */
  service?: string;
  /** Milliseconds. */
  createdAt: number;
  /** Moment at which the reaper ended it, in milliseconds. */
  reapedAt: number;
  amount: bigint;
  /** Amount billed by the reaper. */
  billed: bigint;
  /** Cost of the reading beyond the hold. */
  over: bigint;
  /** Tokens counted by the reaper. */
  usedTokens: number;
  /** Parts of the amount that came from plan and from top-up. */
  charged: Pick<Charge, 'planCost' | 'liveGrantId' | 'topupCost'>;
  price: Price;
}

export const NO_USAGE: Readonly<TokenUsage> = {
  promptTokens: 0,
  cachedTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  ...ESTIMATED_SOURCES,
};

/** Returns a usage whose tokens of a cache are within the prompt and reasoning tokens within the output, whatever the upstream reported. */
export function billableUsage(usage: TokenUsage): TokenUsage {
  return {
    ...promptUsage(usage),
    outputTokens: usage.outputTokens,
    reasoningTokens: Math.min(usage.reasoningTokens, usage.outputTokens),
    promptSource: usage.promptSource,
    outputSource: usage.outputSource,
  };
}

/** Returns the usage that a hold is billed for: of an item its units alone, of a request to a model its tokens alone. */
export function billedUsage({ service }: Pick<Hold, 'service'>, reported: TokenUsage | undefined): TokenUsage {
  if (service === undefined) return reported ? billableUsage(reported) : NO_USAGE;
  return { ...NO_USAGE, promptSource: 'reported', outputSource: 'reported', quantity: reported?.quantity ?? 0 };
}

/** Returns the tokens that budgets of tokens count. */
export function sumTokens({ promptTokens, outputTokens }: TokenUsage): number {
  return promptTokens + outputTokens;
}

/** The cost of a usage, at most the hold. `over` is the rest, which no customer pays; `step` the step of the price that applied, if one did. */
export interface CostWithin {
  cost: bigint;
  over: bigint;
  step?: number;
}

export function costWithin(hold: Pick<Hold, 'amount' | 'price'>, usage: TokenUsage): CostWithin {
  const { cost: actual, step } = priceUsage(usage, hold.price);
  const within = actual > hold.amount ? { cost: hold.amount, over: actual - hold.amount } : { cost: actual, over: 0n };
  return { ...within, ...(step !== undefined && { step }) };
}

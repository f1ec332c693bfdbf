import { ESTIMATED_SOURCES, type TokenUsage } from '#contracts/billing/holds.js';
import { costOf, type Price } from '#money/price.js';
import type { Charge } from '../ledger/funds.js';

/**
 * A hold is open (a row of `billing.hold`), then closed (a row of `billing.settlement`); never both, never open again.
 * A tombstone is a hold that was closed before it was opened.
 */
export interface Hold {
  holdId: string;
  accountId: string;
  projectId: string;
  amount: bigint;
  planPart: bigint;
  grantId: string | null;
  /** Pinned when the hold was made: a price change never touches a running request. */
  price: Price;
  /** The last meter reading: billed when the lease runs out. Undefined before the first. */
  meter: TokenUsage | undefined;
  /** Milliseconds. */
  leaseUntil: number;
}

/** A hold the reaper has ended: what it needs to be settled late. */
export interface ReapedHold {
  accountId: string;
  amount: bigint;
  /** What the reaper billed, and to what. */
  billed: bigint;
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

/** A usage that can be billed: cached tokens are a part of the prompt, reasoning a part of the output, whatever an upstream says. */
export function billableUsage(usage: TokenUsage): TokenUsage {
  return {
    promptTokens: usage.promptTokens,
    cachedTokens: Math.min(usage.cachedTokens, usage.promptTokens),
    outputTokens: usage.outputTokens,
    reasoningTokens: Math.min(usage.reasoningTokens, usage.outputTokens),
    promptSource: usage.promptSource,
    outputSource: usage.outputSource,
  };
}

/** The cost of a usage under a hold: never above the hold; what it came to beyond is `over` (spec 3, billing.md 2.3). */
export function costWithin(hold: Pick<Hold, 'amount' | 'price'>, usage: TokenUsage): { cost: bigint; over: bigint } {
  const actual = costOf(usage, hold.price);
  return actual > hold.amount ? { cost: hold.amount, over: actual - hold.amount } : { cost: actual, over: 0n };
}

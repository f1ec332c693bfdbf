import type { MinuteWindow } from './minute-window.js';

/** Limits of a key beside those of its project, or of a project. Null: no limit. */
export interface Limits {
  requestsPerMinuteMax: number | null;
  concurrencyMax: number | null;
  tokensPerMinuteMax: number | null;
}

/** The limits of a key or a project, and what counts towards them: a row of `billing.rate_limit`. */
export interface RateLimitState extends Limits {
  /** Id of the key, or of the project. */
  targetId: string;
  accountId: string;
  /** Null: the limits of the whole project. Its requests per minute and its concurrency are in the row of the project. */
  keyId: string | null;
  openHolds: number;
  requestWindow: MinuteWindow;
  tokenWindow: MinuteWindow;
}

/** Limits by account and by `targetId`. Null: the target has none. Accounts without limits are absent. */
export type RateLimits = ReadonlyMap<string, RateLimitsOfAccount>;
export type RateLimitsOfAccount = ReadonlyMap<string, RateLimitState | null>;

const NONE: readonly RateLimitState[] = [];

/** Returns the limits that a request counts towards, those of the project first. */
export function limitsOf(limits: RateLimits, payer: { accountId: string; projectId: string; keyId: string }): readonly RateLimitState[] {
  const ofAccount = limits.get(payer.accountId);
  return ofAccount ? [payer.projectId, payer.keyId].flatMap((targetId) => ofAccount.get(targetId) ?? NONE) : NONE;
}

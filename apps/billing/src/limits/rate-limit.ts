import type { ModelLimit } from '#contracts/billing/model-limits.js';
import { modelMatcher } from '#contracts/billing/model-pattern.js';
import type { Payer } from '../payer/payer.js';
import type { MinuteWindow } from './minute-window.js';

/** Limits of a key beside those of its project, of a project, or of an account. Null: no limit. */
export interface Limits {
  requestsPerMinuteMax: number | null;
  concurrencyMax: number | null;
  tokensPerMinuteMax: number | null;
  /** Absent: none. */
  modelLimits?: readonly ModelLimit[];
}

/** The windows that count towards the limits of a pattern of models. */
export interface ModelWindows {
  requests: MinuteWindow;
  tokens: MinuteWindow;
}

/** The limits of a key, a project or an account, and what counts towards them: a row of `billing.rate_limit`. */
export interface RateLimitState extends Limits {
  /** Id of the first key of the rotations, of the project, or of the account. */
  targetId: string;
  accountId: string;
  /** Null: the limits of a whole project, whose requests per minute and concurrency are in its own row, or of the whole account. */
  keyId: string | null;
  /** Always 0 for an account, whose own row counts its open holds. */
  openHolds: number;
  requestWindow: MinuteWindow;
  tokenWindow: MinuteWindow;
  /** By pattern of `modelLimits`. Those that count nothing may be absent. */
  modelWindows?: Readonly<Record<string, ModelWindows>>;
}

/** Limits by account and by `targetId`. Null: the target has none. Accounts without limits are absent. */
export type RateLimits = ReadonlyMap<string, AccountRateLimits>;
export type AccountRateLimits = ReadonlyMap<string, RateLimitState | null>;

const NONE: readonly RateLimitState[] = [];

/** Returns the targets whose limits a request counts towards, the widest first. */
export function limitedTargets({ accountId, projectId, rootKeyId }: Payer): string[] {
  return [...new Set([accountId, projectId, rootKeyId])];
}

/** Returns the limits that a request counts towards, those of the account first. */
export function findLimits(limits: RateLimits, payer: Payer): readonly RateLimitState[] {
  const ofAccount = limits.get(payer.accountId);
  return ofAccount ? limitedTargets(payer).flatMap((targetId) => ofAccount.get(targetId) ?? NONE) : NONE;
}

/** True for the limits that all projects of an account share. */
export function isAccountLimit({ targetId, accountId }: RateLimitState): boolean {
  return targetId === accountId;
}

const NO_WINDOWS: ModelWindows = { requests: [], tokens: [] };

/** Returns the limits by model that a request counts towards. */
export function findModelLimits({ modelLimits }: Limits, model: string): readonly ModelLimit[] {
  return modelLimits ? modelLimits.filter(({ model: pattern }) => modelMatcher(pattern)(model)) : [];
}

export function findModelWindows({ modelWindows }: RateLimitState, pattern: string): ModelWindows {
  return modelWindows?.[pattern] ?? NO_WINDOWS;
}

/** Replaces windows of a pattern in a row. The record itself is shared with the state before the batch, and never changed. */
export function storeModelWindows(row: RateLimitState, pattern: string, windows: Partial<ModelWindows>): void {
  row.modelWindows = { ...row.modelWindows, [pattern]: { ...findModelWindows(row, pattern), ...windows } };
}

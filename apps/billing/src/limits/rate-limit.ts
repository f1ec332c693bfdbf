import type { ModelLimit } from '#contracts/billing/model-limits.js';
import { modelMatcher } from '#contracts/billing/model-pattern.js';
import type { Payer } from '../budgets/budget.js';
import type { MinuteWindow } from './minute-window.js';

/** Limits of a key beside those of its project, or of a project. Null: no limit. */
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

/** The limits of a key or a project, and what counts towards them: a row of `billing.rate_limit`. */
export interface RateLimitState extends Limits {
  /** Id of the first key of the rotations, or of the project. */
  targetId: string;
  accountId: string;
  /** Null: the limits of the whole project. Its requests per minute and its concurrency are in the row of the project. */
  keyId: string | null;
  openHolds: number;
  requestWindow: MinuteWindow;
  tokenWindow: MinuteWindow;
  /** By pattern of `modelLimits`. Those that count nothing may be absent. */
  modelWindows?: Readonly<Record<string, ModelWindows>>;
}

/** Limits by account and by `targetId`. Null: the target has none. Accounts without limits are absent. */
export type RateLimits = ReadonlyMap<string, RateLimitsOfAccount>;
export type RateLimitsOfAccount = ReadonlyMap<string, RateLimitState | null>;

const NONE: readonly RateLimitState[] = [];

/** Returns the limits that a request counts towards, those of the project first. */
export function limitsOf(limits: RateLimits, payer: Payer): readonly RateLimitState[] {
  const ofAccount = limits.get(payer.accountId);
  return ofAccount ? [payer.projectId, payer.rootKeyId].flatMap((targetId) => ofAccount.get(targetId) ?? NONE) : NONE;
}

const NO_WINDOWS: ModelWindows = { requests: [], tokens: [] };

/** Returns the limits by model that a request counts towards. */
export function limitsOfModel({ modelLimits }: Limits, model: string): readonly ModelLimit[] {
  return modelLimits ? modelLimits.filter(({ model: pattern }) => modelMatcher(pattern)(model)) : [];
}

export function windowsOfModel({ modelWindows }: RateLimitState, pattern: string): ModelWindows {
  return modelWindows?.[pattern] ?? NO_WINDOWS;
}

/** Replaces windows of a pattern in a row. The record itself is shared with the state before the batch, and never changed. */
export function storeOfModel(row: RateLimitState, pattern: string, windows: Partial<ModelWindows>): void {
  row.modelWindows = { ...row.modelWindows, [pattern]: { ...windowsOfModel(row, pattern), ...windows } };
}

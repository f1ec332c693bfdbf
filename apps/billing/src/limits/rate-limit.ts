import type { LimitLeft, ReserveRequest } from '#contracts/billing/holds.js';
import type { ModelLimit } from '#contracts/billing/model-limits.js';
import { modelMatcher } from '#contracts/rules/model-pattern.js';
import { listTargets, type Payer } from '../payer/payer.js';
import {
  addToWindow,
  correctWindow,
  countWindow,
  isAhead,
  leftInWindow,
  type MinuteWindow,
  RETRY_AFTER_SECONDS_MAX,
  retryAfterSeconds,
  slideWindow,
} from './minute-window.js';

/** Limits of a key beside those of its project, of a project, or of an account. Null: no limit. */
export interface Limits {
  requestsPerMinuteMax: number | null;
  concurrencyMax: number | null;
  tokensPerMinuteMax: number | null;
  /** Absent: none. */
  modelLimits?: readonly ModelLimit[];
}

/** The windows that count towards the limits of a pattern of models. */
interface ModelWindows {
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

/** Returns the limits that a request counts towards, those of the account first. */
export function findLimits(limits: RateLimits, payer: Payer): readonly RateLimitState[] {
  const ofAccount = limits.get(payer.accountId);
  return ofAccount ? listTargets(payer).flatMap((targetId) => ofAccount.get(targetId) ?? NONE) : NONE;
}

/** A place becomes free when any running request ends, which cannot be predicted. */
const CONCURRENCY_RETRY_AFTER_SECONDS = 1;

const NO_WINDOWS: ModelWindows = { requests: [], tokens: [] };

/** The limits of a project that its own row has. */
interface ProjectLimits {
  requestsPerMinuteMax: number;
  concurrencyMax: number;
  openHolds: number;
  requestWindow: MinuteWindow;
}

/** The owner of a limit: a key, or a whole account. Neither: a project. */
interface LimitOwner {
  keyId?: string;
  accountId?: string;
}

/** A count of the last minute in which a request must fit. */
interface Counter {
  row: ProjectLimits | RateLimitState;
  owner: LimitOwner;
  /** Pattern of the models that count. Absent: all do. */
  model?: string;
  unit: 'requests' | 'tokens';
  limit: number;
  /** The requests or tokens that the request adds. */
  count: number;
  /** As of now. */
  window: MinuteWindow;
}

/**
 * The limits per minute and on concurrency that a reserve counts towards, of its project, its account and its key. All are checked before
 * the request counts in any.
 */
export class Admission {
  private readonly counters: Counter[];

  constructor(
    private readonly project: ProjectLimits,
    private readonly limits: readonly RateLimitState[],
    private readonly account: { readonly openHolds: number },
    { model, tokensMax = 0 }: Pick<ReserveRequest, 'model' | 'tokensMax'>,
    private readonly now: number,
  ) {
    this.counters = [this.counter({ row: project, owner: {}, unit: 'requests', limit: project.requestsPerMinuteMax, count: 1 })];
    for (const row of limits) {
      const owner = findOwner(row);
      for (const { model: pattern, requestsPerMinuteMax, tokensPerMinuteMax } of [
        { ...row, model: undefined },
        ...findModelLimits(row, model),
      ]) {
        const of = { row, owner, ...(pattern !== undefined && { model: pattern }) };
        if (requestsPerMinuteMax) this.counters.push(this.counter({ ...of, unit: 'requests', limit: requestsPerMinuteMax, count: 1 }));
        if (tokensPerMinuteMax && tokensMax > 0) {
          this.counters.push(this.counter({ ...of, unit: 'tokens', limit: tokensPerMinuteMax, count: tokensMax }));
        }
      }
    }
  }

  /** True when the request counts towards a limit of tokens. */
  get countsTokens(): boolean {
    return this.counters.some(({ unit }) => unit === 'tokens');
  }

  /**
   * Stores windows that have entries in the future, since the clock was set back: they would never expire otherwise. Returns the changed
   * rows.
   */
  storeAhead(): (ProjectLimits | RateLimitState)[] {
    const ahead = this.counters.filter((counter) => isAhead(findWindow(counter), this.now));
    for (const counter of ahead) store(counter, counter.window);
    return ahead.map(({ row }) => row);
  }

  /**
   * Returns the limit per minute that leaves no room, of several the one with the longest wait; else the limit on concurrency. Undefined: the
   * request fits.
   */
  findFull() {
    return this.findFullMinute() ?? this.findFullConcurrency();
  }

  /** Counts the request. Call when the request is admitted. */
  count(): void {
    for (const counter of this.counters) {
      counter.window = addToWindow(counter.window, this.now, counter.count);
      store(counter, counter.window);
    }
    this.project.openHolds += 1;
    for (const row of this.limits) if (!isAccountLimit(row)) row.openHolds += 1;
  }

  /** Returns what the tightest limits leave: those with the least remaining. */
  left(): { requests: LimitLeft; tokens?: LimitLeft } {
    const requests = this.tightest('requests') as LimitLeft;
    const tokens = this.tightest('tokens');
    return { requests, ...(tokens && { tokens }) };
  }

  private findFullMinute() {
    const full = this.counters.filter(({ window, count, limit }) => countWindow(window) + count > limit);
    const [first, ...others] = full.map((counter) => ({ counter, waitSeconds: this.waitSeconds(counter) }));
    if (!first) return undefined;
    const { counter, waitSeconds } = others.reduce((longest, other) => (other.waitSeconds > longest.waitSeconds ? other : longest), first);
    const { owner, model, unit, limit, count } = counter;
    return {
      code: 'rate_limit_exceeded',
      limit,
      retryAfterSeconds: Math.min(waitSeconds, RETRY_AFTER_SECONDS_MAX),
      ...owner,
      ...(model !== undefined && { model }),
      ...(unit === 'tokens' && { requestedTokens: count }),
      ...this.left(),
    } as const;
  }

  /** Returns the seconds until the request fits; infinity when it never does. */
  private waitSeconds({ window, count, limit }: Counter): number {
    return count > limit ? Number.POSITIVE_INFINITY : retryAfterSeconds(window, limit, this.now, count);
  }

  private findFullConcurrency() {
    const full = [this.project, ...this.limits].find(
      (row) => row.concurrencyMax !== null && this.countOpenHolds(row) >= row.concurrencyMax,
    );
    if (full?.concurrencyMax == null) return undefined;
    return {
      code: 'concurrency_limit',
      limit: full.concurrencyMax,
      retryAfterSeconds: CONCURRENCY_RETRY_AFTER_SECONDS,
      ...('targetId' in full && findOwner(full)),
    } as const;
  }

  private countOpenHolds(row: ProjectLimits | RateLimitState): number {
    return 'targetId' in row && isAccountLimit(row) ? this.account.openHolds : row.openHolds;
  }

  private tightest(unit: Counter['unit']): LimitLeft | undefined {
    const lefts = this.counters
      .filter((counter) => counter.unit === unit)
      .map(({ window, limit }) => leftInWindow(window, limit, this.now));
    return lefts.reduce<LimitLeft | undefined>((least, left) => (least && least.remaining <= left.remaining ? least : left), undefined);
  }

  private counter(counter: Omit<Counter, 'window'>): Counter {
    return { ...counter, window: slideWindow(findWindow(counter), this.now) };
  }
}

/** Ends the concurrency of a request in its limits. A replica of a release without limits may have opened its hold. */
export function endInLimits(limits: readonly RateLimitState[]): void {
  for (const limit of limits) if (!isAccountLimit(limit)) limit.openHolds = Math.max(0, limit.openHolds - 1);
}

/** Adds `change` to the tokens that a request has counted as, in the second in which it was admitted. */
export function correctTokens(limits: readonly RateLimitState[], model: string, admittedAt: number, change: number): void {
  for (const limit of limits) {
    limit.tokenWindow = correctWindow(limit.tokenWindow, admittedAt, change);
    for (const { model: pattern } of findModelLimits(limit, model)) {
      storeModelWindows(limit, pattern, { tokens: correctWindow(findModelWindows(limit, pattern).tokens, admittedAt, change) });
    }
  }
}

/** True for the limits that all projects of an account share. */
function isAccountLimit({ targetId, accountId }: RateLimitState): boolean {
  return targetId === accountId;
}

/** Returns the limits by model that a request counts towards. */
function findModelLimits({ modelLimits }: Limits, model: string): readonly ModelLimit[] {
  return modelLimits ? modelLimits.filter(({ model: pattern }) => modelMatcher(pattern)(model)) : [];
}

function findModelWindows({ modelWindows }: RateLimitState, pattern: string): ModelWindows {
  return modelWindows?.[pattern] ?? NO_WINDOWS;
}

/** Replaces windows of a pattern in a row. The record itself is shared with the state before the batch, and never changed. */
function storeModelWindows(row: RateLimitState, pattern: string, windows: Partial<ModelWindows>): void {
  row.modelWindows = { ...row.modelWindows, [pattern]: { ...findModelWindows(row, pattern), ...windows } };
}

function findOwner(row: RateLimitState): LimitOwner {
  if (row.keyId !== null) return { keyId: row.keyId };
  return isAccountLimit(row) ? { accountId: row.accountId } : {};
}

function findWindow({ row, model, unit }: Omit<Counter, 'window'>): MinuteWindow {
  if (model !== undefined && 'tokenWindow' in row) return findModelWindows(row, model)[unit];
  return unit === 'tokens' && 'tokenWindow' in row ? row.tokenWindow : row.requestWindow;
}

function store({ row, model, unit }: Counter, window: MinuteWindow): void {
  if (model !== undefined && 'tokenWindow' in row) storeModelWindows(row, model, { [unit]: window });
  else if (unit === 'tokens' && 'tokenWindow' in row) row.tokenWindow = window;
  else row.requestWindow = window;
}

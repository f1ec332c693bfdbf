import type { LimitLeft, ReserveRequest } from '#contracts/billing/holds.js';
import {
  addToWindow,
  countWindow,
  isAhead,
  leftInWindow,
  type MinuteWindow,
  RETRY_AFTER_SECONDS_MAX,
  retryAfterSeconds,
  slideWindow,
} from './minute-window.js';
import { findModelLimits, findModelWindows, isAccountLimit, type RateLimitState, storeModelWindows } from './rate-limit.js';

/** A place becomes free when any running request ends, which cannot be predicted. */
const CONCURRENCY_RETRY_AFTER_SECONDS = 1;

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
 * The limits per minute and on concurrency that a reserve counts towards, of its project, its account and its key. All are asked before any is counted.
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

  /** Returns the refusal of a limit per minute; of several that of the longest wait. Else that of a limit on concurrency. */
  refuse() {
    return this.refusePerMinute() ?? this.refuseConcurrency();
  }

  /** Counts the request. Call when nothing refuses it. */
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

  private refusePerMinute() {
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

  private refuseConcurrency() {
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

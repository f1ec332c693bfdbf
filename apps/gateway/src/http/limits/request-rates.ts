import { setTimeout as delay } from 'node:timers/promises';
import { GatewayError } from '#inference/errors.js';
import type { Exchange } from '../http-exchange.js';
import { addressGroup } from '../server/client-address.js';
import { RateLimiter } from './rate-limiter.js';

/** Seconds of its rate that a client may use at once. */
const BURST_SECONDS = 5;
/** An account's rate, in rates of one key: many keys do not multiply it. */
const KEYS_PER_ACCOUNT = 4;
/** Delay of a refusal to a client over its rate: one connection then costs at most one refusal in this time. */
const REFUSAL_DELAY_MS = 1_000;
/** The part of all connections that may be held back at once; beyond it refusals are immediate. */
const DELAYED_SHARE = 1 / 4;
const ENTRIES_MAX = 20_000;

export interface RateSettings {
  freeRequestsPerSecond: number;
  unkeyedRequestsPerSecond: number;
  connectionsMax: number;
}

/**
 * The rates of requests that cost nothing, in this replica: by key and account for free endpoints, by client address for requests without a
 * valid key. A request with a valid key is never judged by its address, since many tenants may share one behind a proxy.
 */
export class RequestRates {
  private readonly keys: RateLimiter;
  private readonly accounts: RateLimiter;
  private readonly addresses: RateLimiter;
  private readonly delayedMax: number;
  private delayed = 0;

  constructor({ freeRequestsPerSecond, unkeyedRequestsPerSecond, connectionsMax }: RateSettings, now?: () => number) {
    const limiter = (perSecond: number) => new RateLimiter(perSecond, perSecond * BURST_SECONDS, ENTRIES_MAX, now);
    this.keys = limiter(freeRequestsPerSecond);
    this.accounts = limiter(freeRequestsPerSecond * KEYS_PER_ACCOUNT);
    this.addresses = limiter(unkeyedRequestsPerSecond);
    this.delayedMax = Math.ceil(connectionsMax * DELAYED_SHARE);
  }

  /** Counts a free request with a valid key. Throws `rate_limit_exceeded`, late, when its key or account is over its rate. */
  async countFree({ caller, stopped }: Exchange): Promise<void> {
    if (!caller) throw new GatewayError('internal_error', 'The route is not guarded.');
    const waitMs = this.keys.take(caller.keyId) || this.accounts.take(caller.accountId);
    if (waitMs === 0) return;
    await this.holdBack(stopped);
    throw overRate(waitMs);
  }

  /** Counts the refusal of a request without a valid key. Resolves when it may be sent: late, when its address is over its rate. */
  countUnkeyed({ address, stopped }: Exchange): Promise<void> | undefined {
    return this.addresses.take(addressGroup(address)) === 0 ? undefined : this.holdBack(stopped);
  }

  /** Counts a request for a document that needs no key. Throws `rate_limit_exceeded` when its address is over its rate. */
  countPublic({ address }: Exchange): void {
    const waitMs = this.addresses.take(addressGroup(address));
    if (waitMs > 0) throw overRate(waitMs);
  }

  /** True while an address sends more requests without a valid key than its rate. */
  isOverRate(address: string): boolean {
    return this.addresses.waitMs(addressGroup(address)) > 0;
  }

  /** Ends early when the exchange is stopped, since then nothing is gained by waiting. */
  private async holdBack(stopped: AbortSignal): Promise<void> {
    if (this.delayed >= this.delayedMax) return;
    this.delayed++;
    await delay(REFUSAL_DELAY_MS, undefined, { signal: stopped }).catch(() => undefined);
    this.delayed--;
  }
}

function overRate(waitMs: number): GatewayError {
  const retryAfterSeconds = Math.ceil(waitMs / 1_000);
  return new GatewayError('rate_limit_exceeded', `Too many requests. Please try again in ${retryAfterSeconds}s.`, { retryAfterSeconds });
}

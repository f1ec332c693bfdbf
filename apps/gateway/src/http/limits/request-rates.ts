import { setTimeout as delay } from 'node:timers/promises';
import { GatewayError } from '#inference/errors.js';
import { addressGroup } from '#network/address-group.js';
import { RateLimiter } from '#network/rate-limiter.js';
import { type HttpExchange, requireCaller } from '../http-exchange.js';

/** Burst of a client, in seconds of its rate. */
const BURST_SECONDS = 5;
/** Rate of an account in multiples of one key's rate, so that many keys do not multiply it. */
const KEYS_PER_ACCOUNT = 4;
/** Delay of a refusal beyond the rate. A connection then causes at most one refusal per second. */
const REFUSAL_DELAY_MS = 1_000;
/** Share of all connections whose refusals may be delayed at once. Further refusals are immediate. */
const DELAYED_SHARE = 1 / 4;
const ENTRIES_MAX = 20_000;

interface RateSettings {
  freeRequestsPerSecond: number;
  unkeyedRequestsPerSecond: number;
  connectionsMax: number;
}

/**
 * Rate limits of free requests in this replica: by key and account for free endpoints, by client address for requests without a valid
 * key. The address of a request with a valid key does not matter, because many tenants may share one behind a proxy. Clients whose address
 * is unknown share one rate.
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

  /** Counts a free request with a valid key. Beyond the rate of its key or account it throws `rate_limit_exceeded` after a delay. */
  async countFree(exchange: HttpExchange): Promise<void> {
    const { keyId, accountId } = requireCaller(exchange);
    const waitMs = this.keys.take(keyId) || this.accounts.take(accountId);
    if (waitMs === 0) return;
    await this.delayRefusal(exchange.stopped);
    throw overRate(waitMs);
  }

  /** Counts the refusal of a request without a valid key. Beyond the rate of its address it returns a promise that delays the refusal. */
  countUnkeyed({ address, stopped }: HttpExchange): Promise<void> | undefined {
    return this.addresses.take(addressGroup(address)) === 0 ? undefined : this.delayRefusal(stopped);
  }

  /** Counts a request for a public document. Throws `rate_limit_exceeded` beyond the rate of its address. */
  countPublic({ address }: HttpExchange): void {
    const waitMs = this.addresses.take(addressGroup(address));
    if (waitMs > 0) throw overRate(waitMs);
  }

  /** True while an address is over its rate of requests without a valid key. */
  isOverRate(address: string): boolean {
    return this.addresses.waitMs(addressGroup(address)) > 0;
  }

  /** Waits for the delay, or until the exchange is stopped. */
  private async delayRefusal(stopped: AbortSignal): Promise<void> {
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

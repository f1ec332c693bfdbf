import { GatewayError } from '#inference/errors.js';
import { BodyShares } from '#network/body-shares.js';

const SMALL_BODY_BYTES_MAX = 64 * 1024;
/** Share of the budget that one account may use, and share reserved for small bodies. */
const ACCOUNT_SHARE = 1 / 4;
const SMALL_SHARE = 1 / 8;

export interface BodyBudgetLimits {
  bodyBytesMax: number;
  bodiesInFlightBytesMax: number;
}

/**
 * Limits the bytes of all bodies in flight. One account gets a quarter, and at least one body of the largest size. The last eighth is
 * reserved for small bodies, so that a few accounts with large bodies leave room for the ordinary requests of all others.
 */
export class BodyBudget {
  private readonly shares: BodyShares;
  /** The share of one account. */
  readonly accountBytesMax: number;

  constructor({ bodyBytesMax, bodiesInFlightBytesMax }: BodyBudgetLimits) {
    this.accountBytesMax = Math.max(bodyBytesMax, Math.floor(bodiesInFlightBytesMax * ACCOUNT_SHARE));
    this.shares = new BodyShares({
      bytesMax: bodiesInFlightBytesMax,
      holderBytesMax: this.accountBytesMax,
      smallBodyBytesMax: SMALL_BODY_BYTES_MAX,
      reserveBytes: Math.floor(bodiesInFlightBytesMax * SMALL_SHARE),
    });
  }

  get bytesInUse(): number {
    return this.shares.bytesInUse;
  }

  /**
   * Takes `bytes` for a body of `bodyBytes` in total, until `release`. Throws `concurrency_limit` beyond the account's share and
   * `model_unavailable` beyond the budget of all accounts.
   */
  take(accountId: string, bytes: number, bodyBytes: number): void {
    const outcome = this.shares.take(accountId, bytes, bodyBytes);
    if (outcome === 'over-share') throw overShare(this.accountBytesMax);
    if (outcome === 'over-all') throw overAll();
  }

  release(accountId: string, bytes: number): void {
    this.shares.release(accountId, bytes);
  }
}

/** 429, not 503: the limit is the account's own and does not mean that the gateway is unhealthy. */
function overShare(bytesMax: number): GatewayError {
  const message = `The account's running requests hold too much: their bodies may have ${bytesMax} bytes together. Please try again in 1s.`;
  return new GatewayError('concurrency_limit', message, { retryAfterSeconds: 1 });
}

function overAll(): GatewayError {
  return new GatewayError('model_unavailable', 'The gateway is receiving too much at once. Try again.', { retryAfterSeconds: 1 });
}

import { GatewayError } from '#inference/errors.js';

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
  private usedBytes = 0;
  private readonly usedByAccount = new Map<string, number>();
  private readonly accountBytesMax: number;
  private readonly smallReserveBytes: number;

  constructor(private readonly limits: BodyBudgetLimits) {
    const { bodyBytesMax, bodiesInFlightBytesMax } = limits;
    this.accountBytesMax = Math.max(bodyBytesMax, Math.floor(bodiesInFlightBytesMax * ACCOUNT_SHARE));
    this.smallReserveBytes = Math.floor(bodiesInFlightBytesMax * SMALL_SHARE);
  }

  get bytesInUse(): number {
    return this.usedBytes;
  }

  /**
   * Takes `bytes` for a body of `bodyBytes` in total, until `release`. Throws `concurrency_limit` beyond the account's share and
   * `model_unavailable` beyond the budget of all accounts.
   */
  take(accountId: string, bytes: number, bodyBytes: number): void {
    const accountBytes = (this.usedByAccount.get(accountId) ?? 0) + bytes;
    if (accountBytes > this.accountBytesMax) throw overShare(this.accountBytesMax);
    const reserved = bodyBytes > SMALL_BODY_BYTES_MAX ? this.smallReserveBytes : 0;
    if (this.usedBytes + bytes > this.limits.bodiesInFlightBytesMax - reserved) throw overAll();
    this.usedBytes += bytes;
    this.usedByAccount.set(accountId, accountBytes);
  }

  release(accountId: string, bytes: number): void {
    this.usedBytes -= bytes;
    const left = (this.usedByAccount.get(accountId) ?? 0) - bytes;
    if (left > 0) this.usedByAccount.set(accountId, left);
    else this.usedByAccount.delete(accountId);
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

import { GatewayError } from '#inference/errors.js';

/** Bodies of at most this size are small. */
const SMALL_BODY_BYTES_MAX = 64 * 1024;
/** The part of the budget that one account may use, and the part kept free for small bodies. */
const ACCOUNT_SHARE = 1 / 4;
const SMALL_SHARE = 1 / 8;

export interface BodyBudgetLimits {
  bodyBytesMax: number;
  bodiesInFlightBytesMax: number;
}

/**
 * Bounds the bytes of all bodies in flight. One account gets a quarter, and at least one body of the largest size. The last eighth is for
 * small bodies alone, so that a few accounts with large ones leave room for everyday requests of the others.
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
   * Takes `bytes` more for a body of `bodyBytes` in all, until `release`. Throws `concurrency_limit` over the account's share, and
   * `model_unavailable` when all accounts together use too much.
   */
  take(accountId: string, bytes: number, bodyBytes: number): void {
    const ofAccount = (this.usedByAccount.get(accountId) ?? 0) + bytes;
    if (ofAccount > this.accountBytesMax) throw overShare(this.accountBytesMax);
    const reserved = bodyBytes > SMALL_BODY_BYTES_MAX ? this.smallReserveBytes : 0;
    if (this.usedBytes + bytes > this.limits.bodiesInFlightBytesMax - reserved) throw overAll();
    this.usedBytes += bytes;
    this.usedByAccount.set(accountId, ofAccount);
  }

  release(accountId: string, bytes: number): void {
    this.usedBytes -= bytes;
    const left = (this.usedByAccount.get(accountId) ?? 0) - bytes;
    if (left > 0) this.usedByAccount.set(accountId, left);
    else this.usedByAccount.delete(accountId);
  }
}

/** A limit on the account's own requests, so not 503: it says nothing of the gateway's health. */
function overShare(bytesMax: number): GatewayError {
  const message = `The account's running requests hold too much: their bodies may have ${bytesMax} bytes together. Please try again in 1s.`;
  return new GatewayError('concurrency_limit', message, { retryAfterSeconds: 1 });
}

function overAll(): GatewayError {
  return new GatewayError('model_unavailable', 'The gateway is receiving too much at once. Try again.', { retryAfterSeconds: 1 });
}

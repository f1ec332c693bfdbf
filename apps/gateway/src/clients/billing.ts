import type { ReserveOutcome, ReserveRequest, SettleOutcome, SettleRequest } from '#contracts/billing/holds.js';
import { type Balance, balanceGet } from '#contracts/billing/money.js';
import { ServiceError } from '#contracts/service-error.js';
import { GatewayError, isErrorCode } from '#inference/errors.js';
import { type Messaging, MessagingError } from '#messaging/messaging.js';
import { HoldBatches } from './hold-batches.js';

const ATTEMPTS = 2;

/** What the gateway asks of billing, apart from keys (`api-keys.ts`). Its errors are `GatewayError`s, except those of `settle`. */
export class BillingClient {
  private readonly batches: HoldBatches;

  constructor(
    private readonly messaging: Messaging,
    timeoutMs: number,
  ) {
    this.batches = new HoldBatches(messaging, timeoutMs);
  }

  /**
   * Holds the most a request can cost. An attempt that got no answer is repeated once with the same id. `onUnknown` is called
   * when it stays unknown whether the hold was made; the caller must then see to it that it ends.
   */
  async reserve(request: ReserveRequest, onUnknown: () => void): Promise<ReserveOutcome> {
    let unknown = false;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.batches.reserve(request);
      } catch (error) {
        unknown ||= isOutcomeUnknown(error);
        if (attempt < ATTEMPTS && isTransient(error)) continue;
        if (unknown) onUnknown();
        throw billingError(error);
      }
    }
  }

  /** One attempt; throws what the transport or billing threw. Repeating is safe. */
  settle(request: SettleRequest): Promise<SettleOutcome> {
    return this.batches.settle({ ...request, settledBy: 'gateway' });
  }

  /** Spec 2.2, exact at this moment. */
  async balance(accountId: string): Promise<Balance> {
    try {
      const { expiredHeld: _internal, ...balance } = await this.messaging.request(balanceGet, { accountId });
      return balance;
    } catch (error) {
      throw billingError(error);
    }
  }
}

/** What a client sees when billing refuses or cannot be asked. */
export function billingError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  if (error instanceof MessagingError || (error instanceof ServiceError && error.code === 'unavailable')) {
    return new GatewayError('model_unavailable', 'Billing is temporarily unavailable. Try again.', { retryAfterSeconds: 1, cause: error });
  }
  if (error instanceof ServiceError && isErrorCode(error.code) && error.code !== 'internal_error') {
    return new GatewayError(error.code, error.message, { cause: error });
  }
  return new GatewayError('internal_error', 'The request could not be billed.', { cause: error });
}

/** Whether another attempt can end differently: everything but a decided refusal. */
export function isTransient(error: unknown): boolean {
  return !(error instanceof ServiceError) || error.code === 'unavailable' || error.code === 'internal_error';
}

/** `unavailable` is the transport's word that nothing was done; a refusal was decided. Anything else may have been done. */
function isOutcomeUnknown(error: unknown): boolean {
  return isTransient(error) && !(error instanceof MessagingError && error.kind === 'unavailable');
}

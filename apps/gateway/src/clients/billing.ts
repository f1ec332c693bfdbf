import type { ReserveOutcome, ReserveRequest, SettleOutcome, SettleRequest } from '#contracts/billing/holds.js';
import { type Balance, balanceGet } from '#contracts/billing/money.js';
import { ServiceError } from '#contracts/service-error.js';
import { GatewayError, isErrorCode } from '#inference/errors.js';
import { type Messaging, MessagingError } from '#messaging/messaging.js';
import { parsePicoUsd } from '#money/pico-usd.js';
import { HoldBatches } from './hold-batches.js';
import { JoinedReads } from './joined-reads.js';

const ATTEMPTS = 2;
const EMPTY_ACCOUNTS_MAX = 10_000;

/** What the gateway asks of billing, apart from keys (`api-keys.ts`). Its errors are `GatewayError`s, except those of `settle`. */
export class BillingClient {
  private readonly batches: HoldBatches;
  private readonly balances = new JoinedReads((accountId) => this.readBalance(accountId));
  /** Accounts with nothing available at last notice; the oldest notice first. */
  private readonly empty = new Set<string>();

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
        const outcome = await this.batches.reserve(request);
        if (outcome.status === 'refused' && outcome.code === 'insufficient_balance') {
          this.noteAvailable(request.accountId, outcome.availablePicoUsd);
        }
        return outcome;
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
  balance(accountId: string): Promise<Balance> {
    return this.balances.get(accountId);
  }

  /** True when the account had nothing available at its last refused reserve or read balance. It may have more by now. */
  hadNothing(accountId: string): boolean {
    return this.empty.has(accountId);
  }

  private async readBalance(accountId: string): Promise<Balance> {
    try {
      const { expiredHeld: _internal, ...balance } = await this.messaging.request(balanceGet, { accountId });
      this.noteAvailable(accountId, balance.available_pico_usd);
      return balance;
    } catch (error) {
      throw billingError(error);
    }
  }

  private noteAvailable(accountId: string, picoUsd: string): void {
    this.empty.delete(accountId);
    if (parsePicoUsd(picoUsd) > 0n) return;
    this.empty.add(accountId);
    if (this.empty.size <= EMPTY_ACCOUNTS_MAX) return;
    const [oldest = ''] = this.empty;
    this.empty.delete(oldest);
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

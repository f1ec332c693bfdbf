import type { ReserveOutcome, ReserveRequest, SettleOutcome, SettleRequest } from '#contracts/billing/holds.js';
import { type Balance, balanceGet } from '#contracts/billing/money.js';
import { ServiceError } from '#contracts/service-error.js';
import { GatewayError, isErrorCode } from '#inference/errors.js';
import { type Messaging, MessagingError } from '#messaging/messaging.js';
import { parsePicoUsd } from '#money/pico-usd.js';
import type { BillingReplicas } from './billing-replicas.js';
import { HoldBatches } from './hold-batches.js';
import { JoinedReads } from './joined-reads.js';

const ATTEMPTS = 2;
const EMPTY_ACCOUNTS_MAX = 10_000;

/** Requests to billing, except key look-ups (`api-keys.ts`). Throws `GatewayError`s, except from `settle`. */
export class BillingClient {
  private readonly batches: HoldBatches;
  private readonly balances = new JoinedReads((accountId) => this.readBalance(accountId));
  /** Accounts that had nothing available when billing last reported it; the oldest report first. */
  private readonly empty = new Set<string>();

  constructor(
    private readonly messaging: Messaging,
    replicas: BillingReplicas,
    timeoutMs: number,
  ) {
    this.batches = new HoldBatches(messaging, replicas, timeoutMs);
  }

  /**
   * Reserves the highest possible cost of a request. An attempt without an answer is repeated once with the same id. Calls `onUnknown` when
   * the hold may exist although no attempt succeeded; the caller must then release it.
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

  /** Makes one attempt. Throws the error of the transport or of billing. Repeating is safe. */
  settle(request: SettleRequest): Promise<SettleOutcome> {
    return this.batches.settle({ ...request, settledBy: 'gateway' });
  }

  /** Returns the balance as of this call, never a cached one. */
  balance(accountId: string): Promise<Balance> {
    return this.balances.get(accountId);
  }

  /** True when the account had nothing available at its last refused reserve or balance read. It may have more now. */
  wasEmpty(accountId: string): boolean {
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

/** Returns the client's error for a failed request to billing. */
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

/** True when another attempt may succeed: for every error except a refusal. */
export function isTransient(error: unknown): boolean {
  return !(error instanceof ServiceError) || error.code === 'unavailable' || error.code === 'internal_error';
}

/** True when billing may have processed the request. With `unavailable` the transport says that it has not; a refusal is an answer. */
function isOutcomeUnknown(error: unknown): boolean {
  return isTransient(error) && !(error instanceof MessagingError && error.kind === 'unavailable');
}

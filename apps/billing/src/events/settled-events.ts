import { balanceExhausted, balanceLow, holdSettled, planExpired, type SettledHold } from '#contracts/billing/events.js';
import type { Messaging } from '#messaging/messaging.js';
import type { Logger } from '#observability/logger.js';
import type { Committed, Settlement } from '../holds/batch.js';

interface BillingEventsOptions {
  messaging: Pick<Messaging, 'publish'>;
  /** True to publish every settlement. */
  holdSettled: boolean;
  /** Reads the balance and its threshold; off the hot path. */
  readThreshold: (accountId: string) => Promise<Threshold | undefined>;
  now?: () => number;
  logger: Logger;
}

export interface Threshold {
  balance: bigint;
  lowBalance: bigint | null;
}

/** Settlements in one message, far below the size limit of the server. */
const SETTLED_MAX = 500;
const EXHAUSTED_PAUSE_MS = 60_000;
const EXHAUSTED_ACCOUNTS_MAX = 10_000;

/**
 * Publishes events after a commit. It can neither fail nor delay money: it compares what the batch read and wrote, and makes messages after
 * the replies have gone.
 */
export class BillingEvents {
  private readonly exhausted = new Map<string, number>();

  constructor(private readonly options: BillingEventsOptions) {}

  /** Publishes the events of a batch. Never throws. */
  applied(batch: Committed): void {
    const { rows, outcomes } = batch;
    if (this.options.holdSettled && rows.settled.length > 0) this.later(() => this.publishSettled(batch));
    for (const forfeit of rows.forfeits) this.planEnded(forfeit);
    if (rows.accounts.some(({ lowBalance }) => lowBalance)) this.later(() => this.publishLow(batch));
    if (outcomes.reserves.some(isUnaffordable)) this.later(() => this.publishExhausted(batch));
  }

  planEnded({ accountId, grantId, amount }: { accountId: string; grantId: string; amount: bigint }): void {
    this.later(() => this.options.messaging.publish(planExpired, { accountId, grantId, forfeitedPicoUsd: String(amount) }));
  }

  /** Call after a commit off the hot path that took `amount`. Never throws. */
  balanceFell(accountId: string, amount: bigint): void {
    this.options
      .readThreshold(accountId)
      .then((threshold) => threshold && this.compare(accountId, threshold.balance + amount, threshold))
      .catch((error) => this.options.logger.warn({ err: error }, 'event not published'));
  }

  /** Call when the threshold of an account has changed. Never throws. */
  thresholdChanged(accountId: string): void {
    this.balanceFell(accountId, 10n ** 38n);
  }

  private publishSettled({ rows, state }: Committed): void {
    const settled = rows.settled.flatMap((row) => renderSettled(row, state.holds.get(row.holdId)));
    for (let from = 0; from < settled.length; from += SETTLED_MAX) {
      this.options.messaging.publish(holdSettled, { settled: settled.slice(from, from + SETTLED_MAX) });
    }
  }

  private publishLow({ rows, state }: Committed): void {
    for (const { accountId, funds, lowBalance = null } of rows.accounts) {
      const before = state.accounts.get(accountId)?.funds;
      if (before) this.compare(accountId, before.topup + before.plan, { balance: funds.topup + funds.plan, lowBalance });
    }
  }

  /** Batches of an account are serial on all replicas, so only one of them sees the balance cross the threshold. */
  private compare(accountId: string, before: bigint, { balance, lowBalance }: Threshold): void {
    if (lowBalance === null || before < lowBalance || balance >= lowBalance) return;
    this.options.messaging.publish(balanceLow, { accountId, balancePicoUsd: String(balance), lowBalancePicoUsd: String(lowBalance) });
  }

  private publishExhausted({ rows, outcomes, state, reserves }: Committed): void {
    for (const [position, outcome] of outcomes.reserves.entries()) {
      if (!isUnaffordable(outcome)) continue;
      const accountId = reserves[position]?.accountId ?? '';
      const funds = (rows.accounts.find((account) => account.accountId === accountId) ?? state.accounts.get(accountId))?.funds;
      if (!funds || BigInt(outcome.requiredPicoUsd) <= funds.topup + funds.plan || !this.isDue(accountId)) continue;
      const { requiredPicoUsd } = outcome;
      this.options.messaging.publish(balanceExhausted, { accountId, balancePicoUsd: String(funds.topup + funds.plan), requiredPicoUsd });
    }
  }

  private isDue(accountId: string): boolean {
    const now = (this.options.now ?? (() => performance.now()))();
    if (now - (this.exhausted.get(accountId) ?? Number.NEGATIVE_INFINITY) < EXHAUSTED_PAUSE_MS) return false;
    this.exhausted.delete(accountId); // keeps the map in order of time
    const [oldest] = this.exhausted.keys();
    if (this.exhausted.size >= EXHAUSTED_ACCOUNTS_MAX && oldest !== undefined) this.exhausted.delete(oldest);
    this.exhausted.set(accountId, now);
    return true;
  }

  private later(publish: () => void): void {
    setImmediate(() => {
      try {
        publish();
      } catch (error) {
        this.options.logger.warn({ err: error }, 'event not published');
      }
    });
  }
}

type Unaffordable = Extract<Committed['outcomes']['reserves'][number], { code: 'insufficient_balance' }>;

function isUnaffordable(outcome: Committed['outcomes']['reserves'][number]): outcome is Unaffordable {
  return outcome.status === 'refused' && outcome.code === 'insufficient_balance';
}

function renderSettled(
  { holdId, reason, cost, usage }: Settlement,
  hold: { accountId: string; projectId: string } | undefined,
): SettledHold[] {
  return hold ? [{ holdId, accountId: hold.accountId, projectId: hold.projectId, reason, costPicoUsd: String(cost), usage }] : [];
}

import { balanceExhausted, balanceLow, holdSettled, planExpired, type SettledHold } from '#contracts/billing/events.js';
import type { Messaging } from '#messaging/messaging.js';
import type { Logger } from '#observability/logger.js';
import type { Committed, Settlement } from '../holds/batch.js';

export interface BillingEventsOptions {
  messaging: Pick<Messaging, 'publish'>;
  /** Whether every settlement is told. */
  holdSettled: boolean;
  /** What an account has and from where on that is low; off the hot path. */
  readThreshold: (accountId: string) => Promise<Threshold | undefined>;
  now?: () => number;
  logger: Logger;
}

export interface Threshold {
  balance: bigint;
  lowBalance: bigint | null;
}

/** Settlements in one message: far below what a server takes. */
const SETTLED_MAX = 500;
const EXHAUSTED_PAUSE_MS = 60_000;
const EXHAUSTED_ACCOUNTS_MAX = 10_000;

/**
 * Tells what was committed, to whoever listens. Nothing here can fail or delay the money: a batch is looked at after its commit, in
 * comparisons of what it read and wrote anyway; messages are made after its replies have gone, and there are few, but for the
 * settlements, which are off unless somebody wants them.
 */
export class BillingEvents {
  private readonly exhausted = new Map<string, number>();

  constructor(private readonly options: BillingEventsOptions) {}

  /** Looks at a batch. Never throws. */
  applied(batch: Committed): void {
    const { rows, outcomes } = batch;
    if (this.options.holdSettled && rows.settled.length > 0) this.later(() => this.tellSettled(batch));
    for (const forfeit of rows.forfeits) this.planEnded(forfeit);
    if (rows.accounts.some(({ lowBalance }) => lowBalance)) this.later(() => this.tellLow(batch));
    if (outcomes.reserves.some(isUnaffordable)) this.later(() => this.tellExhausted(batch));
  }

  /** Never throws. */
  planEnded({ accountId, grantId, amount }: { accountId: string; grantId: string; amount: bigint }): void {
    this.later(() => this.options.messaging.publish(planExpired, { accountId, grantId, forfeitedPicoUsd: String(amount) }));
  }

  /** The balance fell by `amount` off the hot path, and this was committed. Never throws. */
  balanceFell(accountId: string, amount: bigint): void {
    this.options
      .readThreshold(accountId)
      .then((threshold) => threshold && this.compare(accountId, threshold.balance + amount, threshold))
      .catch((error) => this.options.logger.warn({ err: error }, 'an event was not published'));
  }

  /** Somebody wants to know from now on when it is low: and perhaps it is. Never throws. */
  thresholdChanged(accountId: string): void {
    this.balanceFell(accountId, 10n ** 38n);
  }

  private tellSettled({ rows, state }: Committed): void {
    const settled = rows.settled.flatMap((row) => renderSettled(row, state.holds.get(row.holdId)));
    for (let from = 0; from < settled.length; from += SETTLED_MAX) {
      this.options.messaging.publish(holdSettled, { settled: settled.slice(from, from + SETTLED_MAX) });
    }
  }

  private tellLow({ rows, state }: Committed): void {
    for (const { accountId, funds, lowBalance = null } of rows.accounts) {
      const before = state.accounts.get(accountId)?.funds;
      if (before) this.compare(accountId, before.topup + before.plan, { balance: funds.topup + funds.plan, lowBalance });
    }
  }

  /** Batches of an account are one after another, whatever the replica: only one of them sees it cross. */
  private compare(accountId: string, before: bigint, { balance, lowBalance }: Threshold): void {
    if (lowBalance === null || before < lowBalance || balance >= lowBalance) return;
    this.options.messaging.publish(balanceLow, { accountId, balancePicoUsd: String(balance), lowBalancePicoUsd: String(lowBalance) });
  }

  private tellExhausted({ rows, outcomes, state, reserves }: Committed): void {
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
    this.exhausted.delete(accountId); // so that the first of the map is the oldest
    const [oldest] = this.exhausted.keys();
    if (this.exhausted.size >= EXHAUSTED_ACCOUNTS_MAX && oldest !== undefined) this.exhausted.delete(oldest);
    this.exhausted.set(accountId, now);
    return true;
  }

  private later(tell: () => void): void {
    setImmediate(() => {
      try {
        tell();
      } catch (error) {
        this.options.logger.warn({ err: error }, 'an event was not published');
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

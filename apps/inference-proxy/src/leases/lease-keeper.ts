import { type HoldRenewal, holdRenew } from '#contracts/billing/holds.js';
import type { Ticket } from '#contracts/inference.js';
import type { Usage } from '#inference/usage.js';
import type { Messaging } from '#messaging/messaging.js';
import type { Logger } from '#observability/logger.js';

const RENEWALS_MAX = 4096;
const ENDED_MAX = 8192;
/** Of requests that have ended, how many are remembered while billing cannot be asked; the oldest are left to their leases. */
const REMEMBERED_MAX = 100_000;
const SETTLE_AFTER_MS = 3_000;
/** Nobody's lease depends on an answer about what has ended. */
const ENDED_TIMEOUT_MS = 5_000;

/** Why a request must stop: its hold is no longer ours, or whoever asked for it may not call any more. */
export type LeaseLoss = 'lost' | 'revoked';

interface Lease {
  ticket: Ticket;
  readUsage: () => Usage;
  lost: (loss: LeaseLoss) => void;
  sequence: number;
  /** When the lease last began to run, for all we know. */
  renewedAt: number;
  nextAt: number;
}

interface Ended {
  holdId: string;
  at: number;
  unsettled: () => void;
}

/**
 * Keeps the holds of running requests alive, with a meter reading each: first after a twelfth of the lease, then every
 * sixth, all that are due in one message. A request whose hold is no longer open, or whose renewal was not acknowledged
 * for three quarters of the lease, is told that it has lost it: nothing is spent after a lease (billing.md 2.3). One whose
 * key was revoked is told so at its next renewal.
 *
 * The same message asks for the requests that have ended a while ago whether anybody has settled them: a gateway that dies
 * with the last events in its hands leaves nobody else who knows what they were.
 */
export class LeaseKeeper {
  private readonly leases = new Map<string, Lease>();
  /** In the order of their ends. */
  private ended: Ended[] = [];
  private timer: NodeJS.Timeout | undefined;
  private tickMs = Number.POSITIVE_INFINITY;

  constructor(
    private readonly messaging: Pick<Messaging, 'request'>,
    private readonly logger: Logger,
    private readonly now: () => number = () => performance.now(),
    /** How long a gateway has to settle a request that has ended. */
    private readonly settleAfterMs = SETTLE_AFTER_MS,
  ) {}

  /**
   * `lost` is called at most once. Returns the function that ends the keeping: the request is over, whatever its hold does. If
   * given `unsettled`, it is called when the hold is found open a while later.
   */
  keep(ticket: Ticket, readUsage: () => Usage, lost: (loss: LeaseLoss) => void): (unsettled?: () => void) => void {
    const now = this.now();
    const lease: Lease = { ticket, readUsage, lost, sequence: 0, renewedAt: now, nextAt: now + ticket.leaseMs / 12 };
    this.leases.set(ticket.holdId, lease);
    this.tickAtLeastEvery(ticket.leaseMs / 24);
    const { holdId } = ticket;
    return (unsettled) => {
      if (this.leases.get(holdId) === lease) this.leases.delete(holdId);
      if (unsettled) this.ended.push({ holdId, at: this.now(), unsettled });
    };
  }

  /** At shutdown, when nothing runs any more: asks a last time for all that have ended. */
  async flush(): Promise<void> {
    const ended = this.takeEnded(Number.POSITIVE_INFINITY);
    await Promise.all(chunks(ended, ENDED_MAX).map((chunk) => this.renew([], chunk, this.now())));
  }

  close(): void {
    clearInterval(this.timer);
    this.leases.clear();
  }

  /** One look at all leases: ends those that ran out, renews those that are due. */
  tick(): void {
    const now = this.now();
    const due: Lease[] = [];
    for (const lease of this.leases.values()) {
      if (now - lease.renewedAt >= lease.ticket.leaseMs * 0.75) this.lose(lease, 'no renewal was acknowledged in time');
      else if (now >= lease.nextAt) due.push(lease);
    }
    const renewals = chunks(due, RENEWALS_MAX);
    const ended = chunks(this.takeEnded(now - this.settleAfterMs), ENDED_MAX);
    for (let index = 0; index < Math.max(renewals.length, ended.length); index++) {
      void this.renew(renewals[index] ?? [], ended[index] ?? [], now);
    }
  }

  /** Those that ended up to then. */
  private takeEnded(until: number): Ended[] {
    const later = this.ended.findIndex(({ at }) => at > until);
    return this.ended.splice(0, later === -1 ? this.ended.length : later);
  }

  private async renew(due: Lease[], ended: Ended[], sentAt: number): Promise<void> {
    const renewals: HoldRenewal[] = due.map((lease) => {
      lease.sequence += 1;
      lease.nextAt = sentAt + lease.ticket.leaseMs / 6;
      return { holdId: lease.ticket.holdId, sequence: lease.sequence, usage: lease.readUsage() };
    });
    const timeoutMs = Math.max(100, Math.min(ENDED_TIMEOUT_MS, ...due.map((lease) => lease.ticket.leaseMs / 12)));
    const payload = ended.length > 0 ? { renewals, ended: ended.map(({ holdId }) => holdId) } : { renewals };
    try {
      const { renewed, stop, unsettled } = await this.messaging.request(holdRenew, payload, { timeoutMs });
      this.readVerdicts(due, new Set(renewed), new Set(stop), sentAt);
      if (!unsettled?.length) return;
      const open = new Set(unsettled);
      for (const { holdId, unsettled: tell } of ended) if (open.has(holdId)) tell();
    } catch (error) {
      this.logger.warn({ err: error, holds: due.length, ended: ended.length }, 'holds could not be renewed; trying again');
      for (const lease of due) lease.nextAt = sentAt; // at the next tick
      this.ended = [...ended, ...this.ended].slice(-REMEMBERED_MAX);
    }
  }

  private readVerdicts(due: readonly Lease[], renewed: ReadonlySet<string>, stop: ReadonlySet<string>, sentAt: number): void {
    for (const lease of due) {
      const { holdId } = lease.ticket;
      if (!renewed.has(holdId)) this.lose(lease, 'the hold is no longer open');
      else if (stop.has(holdId)) this.lose(lease, 'its key, project or account may not call any more', 'revoked');
      else lease.renewedAt = Math.max(lease.renewedAt, sentAt);
    }
  }

  private lose(lease: Lease, reason: string, loss: LeaseLoss = 'lost'): void {
    const { holdId, requestId } = lease.ticket;
    if (this.leases.get(holdId) !== lease) return;
    this.leases.delete(holdId);
    this.logger.warn({ holdId, requestId, reason }, 'lease lost; stopping the upstream call');
    lease.lost(loss);
  }

  private tickAtLeastEvery(ms: number): void {
    if (ms >= this.tickMs) return;
    clearInterval(this.timer);
    this.tickMs = ms;
    this.timer = setInterval(() => this.tick(), Math.max(10, ms));
    this.timer.unref();
  }
}

function chunks<Value>(values: readonly Value[], size: number): Value[][] {
  return Array.from({ length: Math.ceil(values.length / size) }, (_, index) => values.slice(index * size, (index + 1) * size));
}

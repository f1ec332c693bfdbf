import { type HoldRenewal, holdRenew } from '#contracts/billing/holds.js';
import type { Ticket } from '#contracts/inference.js';
import type { Usage } from '#inference/usage.js';
import type { Messaging } from '#messaging/messaging.js';
import type { Logger } from '#observability/logger.js';

const RENEWALS_MAX = 4096;
const ENDED_MAX = 8192;
/** Ended requests remembered while billing is away. Beyond that the oldest are forgotten, and the reaper settles them. */
const REMEMBERED_MAX = 100_000;
const SETTLE_AFTER_MS = 3_000;
/** Longer than for renewals: no lease depends on an answer about ended requests. */
const ENDED_TIMEOUT_MS = 5_000;

/** Reason that a request must stop: its hold is no longer open, or its key, project or account was disabled. */
export type LeaseLoss = 'lost' | 'revoked';

interface Lease {
  ticket: Ticket;
  readUsage: () => Usage;
  lost: (loss: LeaseLoss) => void;
  /** For the log. */
  traceId: string | undefined;
  sequence: number;
  /** Start of the lease: when the last acknowledged renewal was sent. */
  renewedAt: number;
  nextAt: number;
}

interface Ended {
  holdId: string;
  at: number;
  unsettled: () => void;
}

/**
 * Renews the holds of running requests, with the usage so far: first after a twelfth of the lease, then every sixth, all that are due in
 * one message. A request stops when its hold is no longer open, when no renewal was acknowledged for three quarters of the lease, so
 * that nothing is spent after it, or when its key was revoked.
 *
 * The same message asks billing which of the recently ended requests are still unsettled: their gateways died before they settled.
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
    /** Milliseconds that a gateway has to settle an ended request. */
    private readonly settleAfterMs = SETTLE_AFTER_MS,
  ) {}

  /**
   * Renews the hold of a request. Calls `lost` at most once. Returns a function to call when the request ends; `unsettled`, if given, is
   * called when the hold is still open a while later.
   */
  keep(ticket: Ticket, readUsage: () => Usage, lost: (loss: LeaseLoss) => void, traceId?: string): (unsettled?: () => void) => void {
    const now = this.now();
    const lease: Lease = { ticket, readUsage, lost, traceId, sequence: 0, renewedAt: now, nextAt: now + ticket.leaseMs / 12 };
    this.leases.set(ticket.holdId, lease);
    this.tickAtLeastEvery(ticket.leaseMs / 24);
    const { holdId } = ticket;
    return (unsettled) => {
      if (this.leases.get(holdId) === lease) this.leases.delete(holdId);
      if (unsettled) this.ended.push({ holdId, at: this.now(), unsettled });
    };
  }

  /** Asks a last time for all ended requests. Call at shutdown, when none runs any more. */
  async flush(): Promise<void> {
    const ended = this.takeEnded(Number.POSITIVE_INFINITY);
    await Promise.all(chunks(ended, ENDED_MAX).map((chunk) => this.renew([], chunk, this.now())));
  }

  close(): void {
    clearInterval(this.timer);
    this.leases.clear();
  }

  /** Stops the requests whose leases ran out, and renews the leases that are due. */
  tick(): void {
    const now = this.now();
    const due: Lease[] = [];
    for (const lease of this.leases.values()) {
      if (now - lease.renewedAt >= lease.ticket.leaseMs * 0.75) this.lose(lease, 'no renewal acknowledged in time');
      else if (now >= lease.nextAt) due.push(lease);
    }
    const renewals = chunks(due, RENEWALS_MAX);
    const ended = chunks(this.takeEnded(now - this.settleAfterMs), ENDED_MAX);
    for (let index = 0; index < Math.max(renewals.length, ended.length); index++) {
      void this.renew(renewals[index] ?? [], ended[index] ?? [], now);
    }
  }

  /** Removes and returns the requests that ended up to `until`. */
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
      this.logger.warn({ err: error, holds: due.length, ended: ended.length }, 'renewing holds failed; will retry');
      for (const lease of due) lease.nextAt = sentAt; // at the next tick
      this.ended = [...ended, ...this.ended].slice(-REMEMBERED_MAX);
    }
  }

  private readVerdicts(due: readonly Lease[], renewed: ReadonlySet<string>, stop: ReadonlySet<string>, sentAt: number): void {
    for (const lease of due) {
      const { holdId } = lease.ticket;
      if (!renewed.has(holdId)) this.lose(lease, 'hold no longer open');
      else if (stop.has(holdId)) this.lose(lease, 'key, project or account disabled', 'revoked');
      else lease.renewedAt = Math.max(lease.renewedAt, sentAt);
    }
  }

  private lose(lease: Lease, reason: string, loss: LeaseLoss = 'lost'): void {
    const { holdId, requestId, keyId } = lease.ticket;
    const { traceId } = lease;
    if (this.leases.get(holdId) !== lease) return;
    this.leases.delete(holdId);
    this.logger.warn({ requestId, traceId, keyId, holdId, reason }, 'lease lost: upstream call stopped');
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

import { type HoldRenewal, holdRenew } from '#contracts/billing/holds.js';
import type { Ticket } from '#contracts/inference.js';
import type { Usage } from '#inference/usage.js';
import type { Messaging } from '#messaging/messaging.js';
import type { Logger } from '#observability/logger.js';

const RENEWALS_MAX = 4096;

interface Lease {
  ticket: Ticket;
  readUsage: () => Usage;
  lost: () => void;
  sequence: number;
  /** When the lease last began to run, for all we know. */
  renewedAt: number;
  nextAt: number;
}

/**
 * Keeps the holds of running requests alive, with a meter reading each: first after a twelfth of the lease, then every
 * sixth, all that are due in one message. A request whose hold is no longer open, or whose renewal was not acknowledged
 * for three quarters of the lease, is told that it has lost it: nothing is spent after a lease (billing.md 2.3).
 */
export class LeaseKeeper {
  private readonly leases = new Map<string, Lease>();
  private timer: NodeJS.Timeout | undefined;
  private tickMs = Number.POSITIVE_INFINITY;

  constructor(
    private readonly messaging: Pick<Messaging, 'request'>,
    private readonly logger: Logger,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** `lost` is called at most once. Returns the function that ends the keeping: the request is over, whatever its hold does. */
  keep(ticket: Ticket, readUsage: () => Usage, lost: () => void): () => void {
    const now = this.now();
    const lease: Lease = { ticket, readUsage, lost, sequence: 0, renewedAt: now, nextAt: now + ticket.leaseMs / 12 };
    this.leases.set(ticket.holdId, lease);
    this.tickAtLeastEvery(ticket.leaseMs / 24);
    return () => {
      if (this.leases.get(ticket.holdId) === lease) this.leases.delete(ticket.holdId);
    };
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
    for (let start = 0; start < due.length; start += RENEWALS_MAX) void this.renew(due.slice(start, start + RENEWALS_MAX), now);
  }

  private async renew(due: Lease[], sentAt: number): Promise<void> {
    const renewals: HoldRenewal[] = due.map((lease) => {
      lease.sequence += 1;
      lease.nextAt = sentAt + lease.ticket.leaseMs / 6;
      return { holdId: lease.ticket.holdId, sequence: lease.sequence, usage: lease.readUsage() };
    });
    const timeoutMs = Math.max(100, Math.min(...due.map((lease) => lease.ticket.leaseMs)) / 12);
    try {
      const reply = await this.messaging.request(holdRenew, { renewals }, { timeoutMs });
      const renewed = new Set(reply.renewed);
      for (const lease of due) {
        if (renewed.has(lease.ticket.holdId)) lease.renewedAt = Math.max(lease.renewedAt, sentAt);
        else this.lose(lease, 'the hold is no longer open');
      }
    } catch (error) {
      this.logger.warn({ err: error, holds: due.length }, 'holds could not be renewed; trying again');
      for (const lease of due) lease.nextAt = sentAt; // at the next tick
    }
  }

  private lose(lease: Lease, reason: string): void {
    const { holdId, requestId } = lease.ticket;
    if (this.leases.get(holdId) !== lease) return;
    this.leases.delete(holdId);
    this.logger.warn({ holdId, requestId, reason }, 'lease lost; stopping the upstream call');
    lease.lost();
  }

  private tickAtLeastEvery(ms: number): void {
    if (ms >= this.tickMs) return;
    clearInterval(this.timer);
    this.tickMs = ms;
    this.timer = setInterval(() => this.tick(), Math.max(10, ms));
    this.timer.unref();
  }
}

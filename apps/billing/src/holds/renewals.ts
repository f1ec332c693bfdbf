import type { HoldRenewal, HoldRenewReply } from '#contracts/billing/holds.js';
import type { PgConnection } from '#database/pg-connection.js';
import { NO_USAGE } from './hold.js';
import { Lane, type LaneOptions } from './lane.js';
import { renewHolds } from './renew.js';

const NOBODYS_HOLD = '00000000-0000-0000-0000-000000000000';

/** The door to `renewHolds`: renewals of all proxies share a lane of their own. */
export class Renewals {
  private readonly lane: Lane<HoldRenewal, boolean>;

  constructor(
    private readonly leaseMs: number,
    options: Omit<LaneOptions<HoldRenewal, boolean>, 'work'>,
  ) {
    const work = (connection: PgConnection, renewals: readonly HoldRenewal[]): Promise<boolean[]> =>
      renewHolds(connection, renewals, leaseMs);
    this.lane = new Lane({ ...options, work });
  }

  async renew(renewals: readonly HoldRenewal[]): Promise<HoldRenewReply> {
    const open = await Promise.all(renewals.map((renewal) => this.lane.push({ ...renewal, holdId: renewal.holdId.toLowerCase() })));
    return { renewed: renewals.filter((_, position) => open[position]).map(({ holdId }) => holdId), leaseMs: this.leaseMs };
  }

  /** Whether a renewal would be kept at this moment: one for a hold nobody has goes the whole way. */
  async arrive(): Promise<boolean> {
    const probe = { holdId: NOBODYS_HOLD, sequence: 1, usage: NO_USAGE };
    return this.lane.push(probe).then(
      () => true,
      () => false,
    );
  }

  close(): Promise<void> {
    return this.lane.close();
  }
}

import type { HoldRenewal, HoldRenewReply, HoldRenewRequest } from '#contracts/billing/holds.js';
import type { PgConnection } from '#database/pg-connection.js';
import { NO_USAGE } from '../batch/hold.js';
import { Lane, type LaneOptions } from '../batch/lane.js';
import { type Renewed, renewHolds } from './renew.js';
import { isItem, renewItems } from './renew-items.js';

/** A lease to extend, or ids of ended requests to check. */
type Item = HoldRenewal | { ended: readonly string[] };

const NO_HOLD = '00000000-0000-0000-0000-000000000000';

/** Sends renewals of all proxies to `renewHolds` through one lane. */
export class Renewals {
  private readonly lane: Lane<Item, Renewed>;

  constructor(
    private readonly leaseMs: number,
    options: Omit<LaneOptions<Item, Renewed>, 'work'>,
  ) {
    const work = async (connection: PgConnection, items: readonly Item[]): Promise<Renewed[]> => {
      const renewals = items.filter((item) => 'holdId' in item);
      const ofItems = renewals.filter(isItem);
      const ended = items.flatMap((item) => ('ended' in item ? item.ended : []));
      const requests = ofItems.length > 0 ? renewals.filter((renewal) => !isItem(renewal)) : renewals;
      const renewed = await renewHolds(connection, requests, leaseMs, ended);
      if (ofItems.length === 0) return items.map(() => renewed);
      const renewedItems = { ...renewed, mayCall: await renewItems(connection, ofItems, leaseMs) };
      return items.map((item) => ('holdId' in item && isItem(item) ? renewedItems : renewed));
    };
    this.lane = new Lane({ ...options, work });
  }

  async renew({ renewals, ended = [] }: HoldRenewRequest): Promise<HoldRenewReply> {
    const [endedCheck, ...renewed] = await Promise.all([
      ended.length > 0 ? this.lane.push({ ended }) : undefined,
      ...renewals.map((renewal) => this.lane.push(renewal)),
    ]);
    const results = renewals.map(({ holdId }, position) => ({ holdId, mayCall: renewed[position]?.mayCall.get(holdId) }));
    return {
      renewed: results.flatMap(({ holdId, mayCall }) => (mayCall === undefined ? [] : holdId)),
      stop: results.flatMap(({ holdId, mayCall }) => (mayCall === false ? holdId : [])),
      unsettled: ended.filter((holdId) => endedCheck?.unsettled.has(holdId)),
      leaseMs: this.leaseMs,
    };
  }

  /** True when a renewal would be stored now. Sends one for a hold that does not exist. */
  async canStore(): Promise<boolean> {
    const probe = { holdId: NO_HOLD, sequence: 1, usage: NO_USAGE };
    return this.lane.push(probe).then(
      () => true,
      () => false,
    );
  }

  open(): Promise<void> {
    return this.lane.open();
  }

  close(): Promise<void> {
    return this.lane.close();
  }
}

import { FairShares } from '#messaging/fair-shares.js';
import { UpstreamFailure } from '../failures/upstream-failure.js';

/**
 * A bound that all replies share for what must be held until it is whole: plain replies, and lines of streams. Accounts have fair shares
 * of it, so that the replies of one leave room for those of others. A reply has a part of its own besides, so that none that is small is
 * ever refused. One too many is nobody's failure: its client is told to come again.
 */
export class HeldBytes {
  private readonly shares = new FairShares();

  constructor(
    private readonly sharedMax: number,
    private readonly ownMax: number,
  ) {}

  open(accountId: string): HeldShare {
    let share = 0;
    const set = (bytes: number): void => {
      const before = share;
      share = Math.max(0, bytes - this.ownMax);
      if (share === before) return;
      const mayGrow = share < before || this.shares.admits(accountId, this.sharedMax);
      this.shares.add(accountId, share - before);
      if (!mayGrow || (share > before && this.shares.inUse > this.sharedMax)) {
        throw new UpstreamFailure('limit', 'model_capacity', { detail: 'no memory left for large replies' });
      }
    };
    return { set, release: () => set(0) };
  }
}

export interface HeldShare {
  /** So many bytes are held now. Throws `UpstreamFailure` when the account, or all together, hold too many. */
  set(bytes: number): void;
  release(): void;
}

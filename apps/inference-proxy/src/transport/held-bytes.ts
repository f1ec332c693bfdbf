import { FairShares } from '#messaging/fair-shares.js';
import { UpstreamFailure } from '../failures/upstream-failure.js';

/**
 * Limits the memory of incomplete data over all replies: plain replies, and lines of streams. Accounts have fair shares of it, so that one
 * account leaves room for others. Each reply may also hold `ownMax` bytes of its own, so that small ones are never refused. Beyond the
 * limit the client gets `model_capacity`.
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
  /** Sets the bytes that the reply holds now. Throws `UpstreamFailure` when its account, or all together, hold too many. */
  set(bytes: number): void;
  release(): void;
}

import { UpstreamFailure } from '../upstream-failure.js';

/**
 * A bound that all replies share for what must be held until it is whole: plain replies, and lines of streams. A reply has a part of
 * its own besides, so that no others can keep it from being served, and none that is small is ever refused. One too many is nobody's
 * failure: its client is told to come again.
 */
export class HeldBytes {
  private shared = 0;

  constructor(
    private readonly sharedMax: number,
    private readonly ownMax: number,
  ) {}

  open(): HeldShare {
    let share = 0;
    const set = (bytes: number): void => {
      const before = share;
      share = Math.max(0, bytes - this.ownMax);
      this.shared += share - before;
      if (share > before && this.shared > this.sharedMax) {
        throw new UpstreamFailure('limit', 'model_capacity', { detail: 'too many large replies at once' });
      }
    };
    return { set, release: () => set(0) };
  }
}

export interface HeldShare {
  /** So many bytes are held now. Throws `UpstreamFailure` when all replies together hold too many. */
  set(bytes: number): void;
  release(): void;
}

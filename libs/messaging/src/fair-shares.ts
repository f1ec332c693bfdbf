/** Places that one holder may have for each place that is still free. */
const PLACES_PER_FREE_PLACE = 4;

/**
 * Divides a capacity between holders without knowing how many there are, by the dynamic threshold of shared buffers (Choudhury and
 * Hahne, 1998): a holder may take another place while it has fewer than four times as many as are free. One holder alone gets 80 %;
 * three that want everything get 31 % each, and 8 % stay free for a fourth. A capacity of up to four is one holder's if nobody else
 * wants it.
 */
export class FairShares {
  private readonly taken = new Map<string, number>();
  private total = 0;

  /** Places that all holders have. */
  get inUse(): number {
    return this.total;
  }

  /** True when `holder` may take another of `capacity` places. */
  admits(holder: string, capacity: number): boolean {
    return (this.taken.get(holder) ?? 0) < PLACES_PER_FREE_PLACE * (capacity - this.total);
  }

  /** Takes `places` for `holder`, or gives them back when negative. Checks nothing. */
  add(holder: string, places: number): void {
    this.total += places;
    const now = (this.taken.get(holder) ?? 0) + places;
    if (now === 0) this.taken.delete(holder);
    else this.taken.set(holder, now);
  }
}

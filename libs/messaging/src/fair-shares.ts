/** Places that a holder may have for each free place. */
const PLACES_PER_FREE_PLACE = 4;

/**
 * Divides a capacity fairly between an unknown number of holders by dynamic thresholds (Choudhury and Hahne, 1998): a holder may take
 * another place while it has fewer than four times the free places. One holder alone gets 80 %; three greedy holders get 31 % each and
 * leave 8 % for a fourth. A single holder may take all of a capacity of up to four.
 */
export class FairShares {
  private readonly taken = new Map<string, number>();
  private total = 0;

  /** Places of all holders. */
  get inUse(): number {
    return this.total;
  }

  /** True when `holder` may take another of `capacity` places. */
  admits(holder: string, capacity: number): boolean {
    return (this.taken.get(holder) ?? 0) < PLACES_PER_FREE_PLACE * (capacity - this.total);
  }

  /** Takes `places` for `holder`, or returns them if negative. Does not check `admits`. */
  add(holder: string, places: number): void {
    this.total += places;
    const now = (this.taken.get(holder) ?? 0) + places;
    if (now === 0) this.taken.delete(holder);
    else this.taken.set(holder, now);
  }
}

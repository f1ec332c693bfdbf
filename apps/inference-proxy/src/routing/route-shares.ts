import type { RouteOverShare } from '#contracts/proxy-replicas.js';
import { hashText } from './prompt-prefix.js';

/** The live replicas as one of them sees them. */
export interface Division {
  /** Position of this replica among all, which every replica lists in the same order. */
  index: number;
  /** Number of replicas; 0 while this one may not start calls yet. */
  count: number;
  /** Calls of the other replicas beyond their shares. */
  overShare: readonly RouteOverShare[];
}

/**
 * This replica's share of each route's `concurrencyMax`, which the live replicas divide. The shares of a route sum to its limit. Which
 * replicas get the remainder differs by route. Alone, a replica has the whole.
 */
export class RouteShares {
  private index = 0;
  private count = 1;
  private readonly overShare = new Map<string, number>();

  /** False while this replica may not start calls on routes with a limit. */
  get isDivided(): boolean {
    return this.count > 0;
  }

  set({ index, count, overShare }: Division): void {
    this.index = index;
    this.count = count;
    this.overShare.clear();
    for (const { model, upstream, upstreamModel, calls } of overShare) {
      const key = routeKey(model, upstream, upstreamModel);
      this.overShare.set(key, (this.overShare.get(key) ?? 0) + calls);
    }
  }

  findShare(key: string, limit: number): number {
    if (this.count <= 1) return this.count * limit;
    const position = (this.index + hashText(key)) % this.count;
    return Math.max(0, Math.ceil((limit - position) / this.count));
  }

  /**
   * Returns the calls that this replica may have: its share, less the calls of others beyond theirs. Every replica leaves the whole excess
   * free, so that replicas that have not heard the same yet still stay within the limit.
   */
  countPlaces(key: string, limit: number): number {
    return Math.max(0, this.findShare(key, limit) - (this.overShare.get(key) ?? 0));
  }
}

/** Returns the name of a route in the whole system. */
export function routeKey(model: string, upstream: string, upstreamModel: string): string {
  return `${model}\n${upstream}\n${upstreamModel}`;
}

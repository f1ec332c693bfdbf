import { DAY_MAX, OPEN_HOLDS_MAX } from './item.js';
import type { CrawlStory } from './item-service.js';

const DAY_MS = 86_400_000;

/** Counts what the service has open, holds and spends in each day, apart from the ledger, and notes where it is more than it may. */
export class ServiceTally {
  private open = 0;
  private held = 0n;
  private readonly spent = new Map<number, bigint>();

  constructor(private readonly faults: string[]) {}

  /** Call when a hold is committed, for the first time or again. */
  hold(story: CrawlStory, amount: bigint): void {
    if (story.holdId !== undefined) return;
    this.open += 1;
    this.held += amount;
    if (this.open > OPEN_HOLDS_MAX) this.faults.push(`${story.requestId}: ${this.open} holds of the service are open`);
    this.checkDay(story);
  }

  /** Call when a settlement is committed, in time or late, with the cost after it. */
  settle(story: CrawlStory, cost: bigint): void {
    const before = story.costs.at(-1);
    if (before === undefined) {
      this.open -= 1;
      this.held -= story.amount;
    }
    story.costs.push(cost);
    const today = Math.floor(Date.now() / DAY_MS);
    this.spent.set(today, (this.spent.get(today) ?? 0n) + cost - (before ?? 0n));
    this.checkDay(story);
  }

  /** Returns what is left when every hold has ended. */
  openFaults(): string[] {
    return this.open === 0 && this.held === 0n ? [] : [`the service has ${this.open} holds of ${this.held} left`];
  }

  private checkDay({ requestId }: CrawlStory): void {
    const spent = this.spent.get(Math.floor(Date.now() / DAY_MS)) ?? 0n;
    if (spent + this.held > DAY_MAX) this.faults.push(`${requestId}: the service spends ${spent} in a day and holds ${this.held}`);
  }
}

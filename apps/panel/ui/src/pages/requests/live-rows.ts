import type { EndedRequest } from '../../../../src/shapes/overview.js';

/** Rows that the live list shows. */
export const LIVE_ROWS = 6;
/** Rows that one step adds, four times a second. More than 20 rows a second cannot be read. */
export const STEP_ROWS = 5;
/** Requests that wait to be shown. */
const WAITING_MAX = 20;

/** The rows of the live list, newest first. Requests that come faster than they can be read are counted instead. */
export class LiveRows {
  shown: readonly EndedRequest[] = [];
  /** Requests that were left out since the last `clearSkipped`. */
  skipped = 0;
  private waiting: EndedRequest[] = [];

  /** Requests that came and are not shown. */
  get more(): number {
    return this.skipped + this.waiting.length;
  }

  add(requests: readonly EndedRequest[]): void {
    this.waiting.push(...requests);
    const surplus = Math.max(0, this.waiting.length - WAITING_MAX);
    this.waiting.splice(0, surplus);
    this.skipped += surplus;
  }

  /** Counts requests that the server left out. */
  skip(count: number): void {
    this.skipped += count;
  }

  clearSkipped(): void {
    this.skipped = 0;
  }

  /** Shows some more rows, the oldest of them first. */
  step(): void {
    const next = this.waiting.splice(0, STEP_ROWS);
    if (next.length > 0) this.shown = [...next.reverse(), ...this.shown].slice(0, LIVE_ROWS);
  }
}

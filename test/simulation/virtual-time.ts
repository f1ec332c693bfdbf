import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers/promises';

/**
 * Virtual time, which advances when no work is left at the present moment. While it is installed it replaces all timers and clocks of the
 * process, so that a run depends on its seed alone and minutes pass in milliseconds.
 */
export class VirtualTime {
  private now = 0;
  private order = 0;
  private readonly due: Entry[] = [];
  private readonly real = {
    setTimeout,
    clearTimeout,
    setInterval,
    clearInterval,
    setImmediate,
    delay: timers.setTimeout,
    dateNow: Date.now,
    performanceNow: performance.now,
  };

  /** Milliseconds since the start of the run. */
  get elapsedMs(): number {
    return this.now;
  }

  install(): void {
    const global = globalThis as unknown as Record<string, unknown>;
    global.setTimeout = (action: Action, delayMs = 0, ...values: unknown[]) => this.add(action, Math.max(0, delayMs), false, values);
    global.setInterval = (action: Action, delayMs = 1, ...values: unknown[]) => this.add(action, delayMs, true, values);
    global.setImmediate = (action: Action, ...values: unknown[]) => this.add(action, 0, false, values);
    // A timer of before the installation may fire meanwhile and clear itself.
    global.clearTimeout = global.clearInterval = (timer?: Timer | NodeJS.Timeout) =>
      timer instanceof Timer ? timer.cancel() : this.real.clearTimeout(timer);
    Date.now = () => EPOCH_MS + Math.floor(this.now);
    performance.now = () => this.now;
    replaceDelay((delayMs) => new Promise((resolve) => setTimeout(resolve, delayMs)));
  }

  restore(): void {
    const { delay, dateNow, performanceNow, ...globals } = this.real;
    Object.assign(globalThis, globals);
    Date.now = dateNow;
    performance.now = performanceNow;
    replaceDelay(delay);
  }

  /** Runs everything that is due within `forMs`. */
  async run(forMs: number): Promise<void> {
    const end = this.now + forMs;
    await this.drainMicrotasks();
    for (let entry = this.due[0]; entry !== undefined && entry.at <= end; entry = this.due[0]) {
      this.removeFirst();
      if (entry.generation !== entry.timer.generation) continue;
      this.now = Math.max(this.now, entry.at);
      entry.timer.fire();
      await this.drainMicrotasks();
    }
    this.now = end;
  }

  put(timer: Timer): void {
    const entry = { at: this.now + timer.delayMs, order: this.order++, timer, generation: timer.generation };
    let index = this.due.push(entry) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!isBefore(entry, this.due[parent] as Entry)) break;
      this.due[index] = this.due[parent] as Entry;
      index = parent;
    }
    this.due[index] = entry;
  }

  /** Resolves when no promise callback is left: only then does the event loop turn. */
  private drainMicrotasks(): Promise<void> {
    return new Promise((resolve) => this.real.setImmediate(resolve));
  }

  private add(action: Action, delayMs: number, repeats: boolean, values: unknown[]): Timer {
    const timer = new Timer(this, () => action(...values), delayMs, repeats);
    this.put(timer);
    return timer;
  }

  private removeFirst(): void {
    const last = this.due.pop() as Entry;
    if (this.due.length === 0) return;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= this.due.length) break;
      if (child + 1 < this.due.length && isBefore(this.due[child + 1] as Entry, this.due[child] as Entry)) child++;
      if (!isBefore(this.due[child] as Entry, last)) break;
      this.due[index] = this.due[child] as Entry;
      index = child;
    }
    this.due[index] = last;
  }
}

type Action = (...values: unknown[]) => void;

/** Half a minute before a midnight, at which budgets of a day begin anew. */
export const EPOCH_MS = Date.UTC(2026, 0, 1) - 30_000;

/** A timer's entry in the queue; invalid once the timer was cancelled or rescheduled. */
interface Entry {
  at: number;
  order: number;
  timer: Timer;
  generation: number;
}

/** Handle returned by `setTimeout` and `setInterval`. */
class Timer {
  generation = 0;
  private isOver = false;

  constructor(
    private readonly time: VirtualTime,
    private readonly action: () => void,
    readonly delayMs: number,
    private readonly repeats: boolean,
  ) {}

  fire(): void {
    if (this.repeats) this.time.put(this);
    else this.isOver = true;
    this.action();
  }

  cancel(): void {
    this.isOver = true;
    this.generation++;
  }

  refresh(): this {
    if (this.isOver) return this;
    this.generation++;
    this.time.put(this);
    return this;
  }

  unref(): this {
    return this;
  }

  ref(): this {
    return this;
  }
}

function isBefore(a: Entry, b: Entry): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}

/** Replaces `setTimeout` of `node:timers/promises` for all that have imported it. */
function replaceDelay(setTimeout: (delayMs: number) => Promise<unknown>): void {
  Object.assign(timers, { setTimeout });
  syncBuiltinESMExports();
}

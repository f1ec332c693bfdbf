/** Something that counts time in ticks of `TICK_MS`. */
export interface Beating {
  tick(): void;
}

export const TICK_MS = 250;

/**
 * One timer for all streams of a connection. Silence is counted in ticks, not by the clock: a process that was itself
 * held up for seconds has seen one tick only, and does not declare everybody else dead.
 */
export class Pulse {
  private readonly beating = new Set<Beating>();
  private timer: NodeJS.Timeout | undefined;

  add(beating: Beating): void {
    this.beating.add(beating);
    this.timer ??= setInterval(() => this.tick(), TICK_MS).unref();
  }

  remove(beating: Beating): void {
    this.beating.delete(beating);
    if (this.beating.size > 0) return;
    clearInterval(this.timer);
    this.timer = undefined;
  }

  private tick(): void {
    for (const beating of this.beating) beating.tick();
  }
}

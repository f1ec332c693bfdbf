/** Counts time in ticks of `TICK_MS`. */
export interface Heartbeating {
  tick(): void;
}

export const TICK_MS = 250;

/**
 * One timer for all streams of a connection. Silence is counted in ticks instead of milliseconds: after a pause of its own process, a
 * stream has seen one tick and does not take its peer for dead.
 */
export class Heartbeat {
  private readonly members = new Set<Heartbeating>();
  private timer: NodeJS.Timeout | undefined;

  add(member: Heartbeating): void {
    this.members.add(member);
    this.timer ??= setInterval(() => this.tick(), TICK_MS).unref();
  }

  remove(member: Heartbeating): void {
    this.members.delete(member);
    if (this.members.size > 0) return;
    clearInterval(this.timer);
    this.timer = undefined;
  }

  private tick(): void {
    for (const member of this.members) member.tick();
  }
}

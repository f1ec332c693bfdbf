/** Step of a request at the time of a fault. */
export const STEPS = [
  'auth',
  'reserve before commit',
  'reserve committed, reply lost',
  'dispatch',
  'before first content',
  'mid-stream',
  'read on for its usage',
  'finished, settle not sent',
  'settle sent',
  'settle commit unknown',
  'settle acknowledgement lost',
] as const;
export type Step = (typeof STEPS)[number];

/** Faults. With `all die`, a gateway, a proxy and a billing service die at once: they share a process. */
export const EVENTS = ['gateway dies', 'proxy dies', 'billing dies', 'NATS down', 'Postgres down', 'client leaves', 'all die'] as const;
export type Event = (typeof EVENTS)[number];

export interface PlannedFault {
  step: Step;
  event: Event;
}

/** Counts the requests that reached each cell of the matrix. */
export class CrashMatrix {
  private readonly counts = new Map<string, number>();

  count({ step, event }: PlannedFault): void {
    this.counts.set(`${step}/${event}`, this.of(step, event) + 1);
  }

  of(step: Step, event: Event): number {
    return this.counts.get(`${step}/${event}`) ?? 0;
  }

  get least(): number {
    return Math.min(...STEPS.flatMap((step) => EVENTS.map((event) => this.of(step, event))));
  }

  get total(): number {
    return [...this.counts.values()].reduce((sum, count) => sum + count, 0);
  }

  toString(): string {
    const row = (first: string, cells: readonly (string | number)[]): string =>
      first.padEnd(32) + cells.map((cell) => String(cell).padStart(14)).join('');
    return [
      row('', EVENTS),
      ...STEPS.map((step) =>
        row(
          step,
          EVENTS.map((event) => this.of(step, event)),
        ),
      ),
    ].join('\n');
  }
}

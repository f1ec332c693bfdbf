interface Limits {
  bodyBytesPerSecondMin: number;
  /** Milliseconds at the start of a body that do not count. */
  bodyGraceMs: number;
}

/** Interval of the check. Time is counted in ticks, so that a pause of the process is not held against clients. */
const TICK_MS = 500;

interface Watched {
  body: { readonly length: number };
  ticks: number;
  cutOff: () => void;
}

/** Finds bodies that arrive below a minimum average rate. */
export class BodyRate {
  private readonly watched = new Set<Watched>();
  /** Set while bodies are being read. */
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly limits: Limits) {}

  /** Calls `cutOff` while the body is too slow, until the function that it returns is called. */
  watch(body: Watched['body'], cutOff: () => void): () => void {
    const watched = { body, ticks: 0, cutOff };
    this.watched.add(watched);
    this.timer ??= setInterval(() => this.tick(), TICK_MS).unref();
    return () => this.watched.delete(watched);
  }

  private tick(): void {
    if (this.watched.size === 0) {
      clearInterval(this.timer);
      this.timer = undefined;
    }
    for (const watched of this.watched) {
      watched.ticks++;
      if (this.isTooSlow(watched)) watched.cutOff();
    }
  }

  private isTooSlow({ body, ticks }: Watched): boolean {
    const { bodyGraceMs, bodyBytesPerSecondMin } = this.limits;
    return body.length < ((ticks * TICK_MS - bodyGraceMs) / 1000) * bodyBytesPerSecondMin;
  }
}

import { GatewayError } from '#inference/errors.js';

interface LookupLimits {
  /** Look-ups in flight at once. */
  inFlightMax: number;
  /** Suspects among them. */
  suspectsInFlightMax: number;
  /** Look-ups waiting at once, for suspects and for others each. Beyond it a look-up is refused. */
  waitingMax: number;
}

/** Limits concurrent look-ups of unknown keys. Suspects, whose address is guessing keys, are served after all others. */
export class LookupQueue {
  private readonly waiting: (() => void)[] = [];
  private readonly suspects: (() => void)[] = [];
  private inFlight = 0;
  private suspectsInFlight = 0;

  constructor(private readonly limits: LookupLimits) {}

  /** Runs `look` when there is room. Throws `model_unavailable` when too many look-ups wait. */
  async run<Result>(isSuspect: boolean, look: () => Promise<Result>): Promise<Result> {
    if (this.hasRoom(isSuspect)) this.count(isSuspect, 1);
    else await this.wait(isSuspect ? this.suspects : this.waiting);
    try {
      return await look();
    } finally {
      this.count(isSuspect, -1);
      this.startNext();
    }
  }

  private wait(queue: (() => void)[]): Promise<void> {
    if (queue.length >= this.limits.waitingMax) {
      throw new GatewayError('model_unavailable', 'Too many keys are being checked. Try again.', { retryAfterSeconds: 1 });
    }
    return new Promise((resolve) => queue.push(resolve));
  }

  /** Starts a waiting look-up and counts it at once, so that no other takes its place before it runs. */
  private startNext(): void {
    const isSuspect = this.waiting.length === 0;
    const queue = isSuspect ? this.suspects : this.waiting;
    if (queue.length === 0 || !this.hasRoom(isSuspect)) return;
    this.count(isSuspect, 1);
    queue.shift()?.();
  }

  private hasRoom(isSuspect: boolean): boolean {
    const { inFlightMax, suspectsInFlightMax } = this.limits;
    return this.inFlight < inFlightMax && (!isSuspect || this.suspectsInFlight < suspectsInFlightMax);
  }

  private count(isSuspect: boolean, by: 1 | -1): void {
    this.inFlight += by;
    if (isSuspect) this.suspectsInFlight += by;
  }
}

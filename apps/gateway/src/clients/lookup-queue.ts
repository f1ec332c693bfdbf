import { GatewayError } from '#inference/errors.js';

export interface LookupLimits {
  /** Under way at once. */
  inFlightMax: number;
  /** The part of those that suspects may take. */
  suspectsInFlightMax: number;
  /** Waiting at once, of suspects and of others each. Beyond it a look-up is refused. */
  waitingMax: number;
}

/** Look-ups of unknown keys, limited in number. Those of suspects, whose address is guessing keys, go after all others. */
export class LookupQueue {
  private readonly waiting: (() => void)[] = [];
  private readonly suspects: (() => void)[] = [];
  private inFlight = 0;
  private suspectsInFlight = 0;

  constructor(private readonly limits: LookupLimits) {}

  /** Runs `look` when its turn comes. Throws `model_unavailable` when too many wait. */
  async run<Result>(isSuspect: boolean, look: () => Promise<Result>): Promise<Result> {
    if (this.hasRoom(isSuspect)) this.count(isSuspect, 1);
    else await this.turn(isSuspect ? this.suspects : this.waiting);
    try {
      return await look();
    } finally {
      this.count(isSuspect, -1);
      this.startNext();
    }
  }

  private turn(queue: (() => void)[]): Promise<void> {
    if (queue.length >= this.limits.waitingMax) {
      throw new GatewayError('model_unavailable', 'Too many keys are being checked. Try again.', { retryAfterSeconds: 1 });
    }
    return new Promise((resolve) => queue.push(resolve));
  }

  /** Counts the one it starts, so that no other takes its place before it runs. */
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

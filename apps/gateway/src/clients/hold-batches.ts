import {
  type HoldApplyReply,
  holdApply,
  type ReserveOutcome,
  type ReserveRequest,
  type SettleOutcome,
  type SettleRequest,
} from '#contracts/billing/holds.js';
import { ServiceError } from '#contracts/service-error.js';
import type { Messaging } from '#messaging/messaging.js';

const ITEMS_MAX = 256;

interface Waiting<Request, Outcome> {
  request: Request;
  resolve(outcome: Outcome): void;
  reject(error: unknown): void;
}

/** Sends what one turn of the event loop brings together as one message (architecture.md, "The hot path"): no timer, no delay. */
export class HoldBatches {
  private settles: Waiting<SettleRequest, SettleOutcome>[] = [];
  private reserves: Waiting<ReserveRequest, ReserveOutcome>[] = [];
  private scheduled = false;

  constructor(
    private readonly messaging: Messaging,
    private readonly timeoutMs: number,
  ) {}

  settle(request: SettleRequest): Promise<SettleOutcome> {
    return new Promise((resolve, reject) => {
      this.settles.push({ request, resolve, reject });
      this.schedule();
    });
  }

  reserve(request: ReserveRequest): Promise<ReserveOutcome> {
    return new Promise((resolve, reject) => {
      this.reserves.push({ request, resolve, reject });
      this.schedule();
    });
  }

  private schedule(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    setImmediate(() => this.flush());
  }

  private flush(): void {
    this.scheduled = false;
    const { settles, reserves } = this;
    this.settles = [];
    this.reserves = [];
    while (settles.length + reserves.length > 0) {
      const settling = settles.splice(0, ITEMS_MAX);
      void this.apply(settling, reserves.splice(0, ITEMS_MAX - settling.length));
    }
  }

  private async apply(
    settles: Waiting<SettleRequest, SettleOutcome>[],
    reserves: Waiting<ReserveRequest, ReserveOutcome>[],
  ): Promise<void> {
    const all = [...settles, ...reserves];
    try {
      const payload = { settles: settles.map(({ request }) => request), reserves: reserves.map(({ request }) => request) };
      const reply = await this.messaging.request(holdApply, payload, { timeoutMs: this.timeoutMs });
      answer(settles, reply, 'settles');
      answer(reserves, reply, 'reserves');
    } catch (error) {
      // One faulty item must not take the others with it: each is then asked alone, and only the faulty one is refused.
      if (error instanceof ServiceError && error.code === 'invalid_request' && all.length > 1) {
        for (const settle of settles) void this.apply([settle], []);
        for (const reserve of reserves) void this.apply([], [reserve]);
        return;
      }
      for (const { reject } of all) reject(error);
    }
  }
}

function answer<Outcome>(waiting: Waiting<unknown, Outcome>[], reply: HoldApplyReply, side: 'settles' | 'reserves'): void {
  const outcomes = reply[side] as Outcome[];
  waiting.forEach(({ request, resolve, reject }, position) => {
    const outcome = outcomes[position];
    if (outcome === undefined) reject(new ServiceError('internal_error', `billing left out an answer: ${JSON.stringify(request)}`));
    else resolve(outcome);
  });
}

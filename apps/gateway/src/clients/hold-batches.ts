import {
  type FailedItem,
  holdApply,
  type ReserveOutcome,
  type ReserveRequest,
  type SettleOutcome,
  type SettleRequest,
} from '#contracts/billing/holds.js';
import { ServiceError } from '#contracts/service-error.js';
import type { Messaging } from '#messaging/messaging.js';

const ITEMS_MAX = 256;
const QUEUES = 4;
/** A message without an answer for so long holds nobody up any more: the next may find a billing replica that is well. */
const PATIENCE_MS = 100;

interface Waiting<Request, Outcome> {
  request: Request;
  resolve(outcome: Outcome): void;
  reject(error: unknown): void;
}

/**
 * Sends reserves and settlements in messages that are batched by being busy: one is under way for an account, and what
 * comes meanwhile goes as the next. A lone request waits for nothing and no timer runs for it; under load messages, and
 * with them the ledger's batches, grow by themselves (architecture.md, "The hot path").
 */
export class HoldBatches {
  private readonly queues: Queue[];

  constructor(messaging: Messaging, timeoutMs: number) {
    this.queues = Array.from({ length: QUEUES }, () => new Queue(messaging, timeoutMs));
  }

  settle(request: SettleRequest): Promise<SettleOutcome> {
    return new Promise((resolve, reject) => this.queueOf(request.accountId).settle({ request, resolve, reject }));
  }

  reserve(request: ReserveRequest): Promise<ReserveOutcome> {
    return new Promise((resolve, reject) => this.queueOf(request.accountId).reserve({ request, resolve, reject }));
  }

  /** An account has one queue, so that its requests meet; a slow batch of one account holds up those of its queue alone. */
  private queueOf(accountId: string): Queue {
    return this.queues[accountId.charCodeAt(accountId.length - 1) % QUEUES] as Queue;
  }
}

class Queue {
  private settles: Waiting<SettleRequest, SettleOutcome>[] = [];
  private reserves: Waiting<ReserveRequest, ReserveOutcome>[] = [];
  private scheduled = false;
  /** The message that the next one waits for. */
  private ahead: object | undefined;

  constructor(
    private readonly messaging: Messaging,
    private readonly timeoutMs: number,
  ) {}

  settle(waiting: Waiting<SettleRequest, SettleOutcome>): void {
    this.settles.push(waiting);
    this.schedule();
  }

  reserve(waiting: Waiting<ReserveRequest, ReserveOutcome>): void {
    this.reserves.push(waiting);
    this.schedule();
  }

  /** At the end of the turn, with all that the turn brings. */
  private schedule(): void {
    if (this.scheduled || this.ahead !== undefined) return;
    this.scheduled = true;
    setImmediate(() => this.send());
  }

  private send(): void {
    this.scheduled = false;
    const settles = this.settles.splice(0, ITEMS_MAX);
    const reserves = this.reserves.splice(0, ITEMS_MAX - settles.length);
    const message = {};
    this.ahead = message;
    const goOn = (): void => {
      if (this.ahead !== message) return;
      this.ahead = undefined;
      if (this.settles.length + this.reserves.length > 0) this.schedule();
    };
    const patience = setTimeout(goOn, PATIENCE_MS);
    void this.apply(settles, reserves).then(() => {
      clearTimeout(patience);
      goOn();
    });
  }

  /** Answers everyone, and never rejects. */
  private async apply(
    settles: Waiting<SettleRequest, SettleOutcome>[],
    reserves: Waiting<ReserveRequest, ReserveOutcome>[],
  ): Promise<void> {
    const all = [...settles, ...reserves];
    try {
      const payload = { settles: settles.map(({ request }) => request), reserves: reserves.map(({ request }) => request), partial: true };
      const reply = await this.messaging.request(holdApply, payload, { timeoutMs: this.timeoutMs });
      answer(settles, reply.settles);
      answer(reserves, reply.reserves);
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

function answer<Outcome extends SettleOutcome | ReserveOutcome>(
  waiting: Waiting<unknown, Outcome>[],
  outcomes: readonly (Outcome | FailedItem)[],
): void {
  waiting.forEach(({ request, resolve, reject }, position) => {
    const outcome = outcomes[position];
    if (outcome === undefined) reject(new ServiceError('internal_error', `billing left out an answer: ${JSON.stringify(request)}`));
    else if (isFailed(outcome)) reject(new ServiceError(outcome.code, outcome.message));
    else resolve(outcome);
  });
}

function isFailed(outcome: SettleOutcome | ReserveOutcome | FailedItem): outcome is FailedItem {
  return outcome.status === 'failed';
}

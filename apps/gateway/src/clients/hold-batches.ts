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
/** Milliseconds after which the next message is sent although the previous one has no answer: it may reach a healthy replica. */
const NEXT_MESSAGE_AFTER_MS = 100;

interface Waiting<Request, Outcome> {
  request: Request;
  resolve(outcome: Outcome): void;
  reject(error: unknown): void;
}

/**
 * Sends reserves and settlements in batches. Each queue has one message in flight, and requests that arrive meanwhile form the next one. A
 * single request is sent without delay; under load the messages, and with them the ledger's batches, grow.
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

  /** Returns the account's queue: its requests share batches, and a slow batch delays only the accounts of one queue. */
  private queueOf(accountId: string): Queue {
    return this.queues[accountId.charCodeAt(accountId.length - 1) % QUEUES] as Queue;
  }
}

class Queue {
  private settles: Waiting<SettleRequest, SettleOutcome>[] = [];
  private reserves: Waiting<ReserveRequest, ReserveOutcome>[] = [];
  private scheduled = false;
  /** The message whose answer the next message waits for. */
  private inFlight: object | undefined;

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

  /** Sends at the end of the event loop turn, with all requests of the turn. */
  private schedule(): void {
    if (this.scheduled || this.inFlight !== undefined) return;
    this.scheduled = true;
    setImmediate(() => this.send());
  }

  private send(): void {
    this.scheduled = false;
    const settles = this.settles.splice(0, ITEMS_MAX);
    const reserves = this.reserves.splice(0, ITEMS_MAX - settles.length);
    const message = {};
    this.inFlight = message;
    const sendNext = (): void => {
      if (this.inFlight !== message) return;
      this.inFlight = undefined;
      if (this.settles.length + this.reserves.length > 0) this.schedule();
    };
    const timer = setTimeout(sendNext, NEXT_MESSAGE_AFTER_MS);
    void this.apply(settles, reserves).then(() => {
      clearTimeout(timer);
      sendNext();
    });
  }

  /** Sends one message and answers all its requests. Never rejects. */
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
      // One invalid item must not fail the others: each is sent alone, so that only the invalid one is refused.
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
    if (outcome === undefined) reject(new ServiceError('internal_error', `billing returned too few outcomes: ${JSON.stringify(request)}`));
    else if (isFailed(outcome)) reject(new ServiceError(outcome.code, outcome.message));
    else resolve(outcome);
  });
}

function isFailed(outcome: SettleOutcome | ReserveOutcome | FailedItem): outcome is FailedItem {
  return outcome.status === 'failed';
}

import { accountShard } from '#contracts/billing/account-shard.js';
import {
  type FailedItem,
  type HoldApplyReply,
  type HoldApplyRequest,
  holdApply,
  type ReserveOutcome,
  type ReserveRequest,
  type SettleOutcome,
  type SettleRequest,
} from '#contracts/billing/holds.js';
import type { Endpoint } from '#contracts/endpoint.js';
import { ServiceError } from '#contracts/service-error.js';
import { type Messaging, MessagingError } from '#messaging/messaging.js';
import type { BillingReplicas } from './billing-replicas.js';

const ITEMS_MAX = 256;
const QUEUES_MIN = 4;
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
 *
 * An account has the same replica of billing at every gateway, because a replica decides batches from memory while no other replica changes
 * the account. Its messages go to any replica while its own is gone or slow; every replica is correct. A replica that is known is named
 * also when it is the only one: in a process with billing, any replica is that of the process, which may have lost its database.
 */
export class HoldBatches {
  private queues: Queue[] = [];
  /** The replicas that `queues` belong to. */
  private replicaIds: readonly string[] | undefined;

  constructor(
    private readonly messaging: Messaging,
    private readonly replicas: BillingReplicas,
    private readonly timeoutMs: number,
  ) {}

  settle(request: SettleRequest): Promise<SettleOutcome> {
    return new Promise((resolve, reject) => this.findQueue(request.accountId).settle({ request, resolve, reject }));
  }

  reserve(request: ReserveRequest): Promise<ReserveOutcome> {
    return new Promise((resolve, reject) => this.findQueue(request.accountId).reserve({ request, resolve, reject }));
  }

  /** Returns the account's queue: its requests share batches, and a slow batch delays only the accounts of one queue. */
  private findQueue(accountId: string): Queue {
    if (this.replicaIds !== this.replicas.ids) this.makeQueues(this.replicas.ids);
    return this.queues[accountShard(accountId, this.queues.length)] as Queue;
  }

  /** Makes equally many queues for each replica. The queues before still send what they have. */
  private makeQueues(ids: readonly string[]): void {
    const { messaging, replicas, timeoutMs } = this;
    const targets = ids.length === 0 ? [undefined] : ids;
    const length = targets.length * Math.ceil(QUEUES_MIN / targets.length);
    this.queues = Array.from({ length }, (_, index) => new Queue(messaging, replicas, timeoutMs, targets[index % targets.length]));
    this.replicaIds = ids;
  }
}

class Queue {
  private settles: Waiting<SettleRequest, SettleOutcome>[] = [];
  private reserves: Waiting<ReserveRequest, ReserveOutcome>[] = [];
  private scheduled = false;
  /** The message whose answer the next message waits for. */
  private inFlight: object | undefined;
  /** The last message had no answer in time: the next one goes to any replica. */
  private isSlow = false;
  private readonly endpoint: Endpoint<HoldApplyRequest, HoldApplyReply>;

  constructor(
    private readonly messaging: Messaging,
    private readonly replicas: BillingReplicas,
    private readonly timeoutMs: number,
    private readonly replica: string | undefined,
  ) {
    this.endpoint = replica === undefined ? holdApply : holdApply.at(replica);
  }

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
    const timer = setTimeout(() => {
      this.isSlow = true;
      sendNext();
    }, NEXT_MESSAGE_AFTER_MS);
    const endpoint = this.isSlow ? holdApply : this.endpoint;
    void this.apply(settles, reserves, endpoint).then(() => {
      clearTimeout(timer);
      this.isSlow = false;
      sendNext();
    });
  }

  /** Sends one message and answers all its requests. Never rejects. */
  private async apply(
    settles: Waiting<SettleRequest, SettleOutcome>[],
    reserves: Waiting<ReserveRequest, ReserveOutcome>[],
    endpoint: Endpoint<HoldApplyRequest, HoldApplyReply>,
  ): Promise<void> {
    const all = [...settles, ...reserves];
    try {
      const payload = { settles: settles.map(({ request }) => request), reserves: reserves.map(({ request }) => request), partial: true };
      const reply = await this.messaging.request(endpoint, payload, { timeoutMs: this.timeoutMs });
      const isDecided = answer(settles, reply.settles);
      // Another replica may reach the database.
      if (!(answer(reserves, reply.reserves) && isDecided)) this.leaveReplica();
    } catch (error) {
      // One invalid item must not fail the others: each is sent alone, so that only the invalid one is refused.
      if (error instanceof ServiceError && error.code === 'invalid_request' && all.length > 1) {
        for (const settle of settles) void this.apply([settle], [], endpoint);
        for (const reserve of reserves) void this.apply([], [reserve], endpoint);
        return;
      }
      this.leaveReplica();
      // The replica is gone, and nothing was done.
      const isGone = error instanceof MessagingError && error.kind === 'unavailable' && endpoint !== holdApply;
      if (isGone) return this.apply(settles, reserves, holdApply);
      for (const { reject } of all) reject(error);
    }
  }

  /** Sends the replica's accounts elsewhere until it announces itself again. */
  private leaveReplica(): void {
    if (this.replica !== undefined) this.replicas.forget(this.replica);
  }
}

/** Answers all items of a message. Returns false when billing could not decide one of them. */
function answer<Outcome extends SettleOutcome | ReserveOutcome>(
  waiting: Waiting<unknown, Outcome>[],
  outcomes: readonly (Outcome | FailedItem)[],
): boolean {
  let isDecided = true;
  waiting.forEach(({ request, resolve, reject }, position) => {
    const outcome = outcomes[position];
    if (outcome === undefined) reject(new ServiceError('internal_error', `billing returned too few outcomes: ${JSON.stringify(request)}`));
    else if (isFailed(outcome)) {
      isDecided = false;
      reject(new ServiceError(outcome.code, outcome.message));
    } else resolve(outcome);
  });
  return isDecided;
}

function isFailed(outcome: SettleOutcome | ReserveOutcome | FailedItem): outcome is FailedItem {
  return outcome.status === 'failed';
}

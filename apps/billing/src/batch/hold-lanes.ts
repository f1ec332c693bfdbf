import { accountShard } from '#contracts/billing/account-shard.js';
import type { ReserveOutcome, ReserveRequest, SettleOutcome } from '#contracts/billing/holds.js';
import type { PgConnection } from '#database/pg-connection.js';
import { ownTraceId, readTraceId } from '#tracing/trace-context.js';
import { type Span, type Tracer, underSpan } from '#tracing/tracer.js';
import { applyBatch } from './apply-batch.js';
import type { Batch, Committed, HoldTimes, Settle } from './batch.js';
import { endWithOutcome, findBatchSpan, findSpan } from './batch-trace.js';
import { Lane, type LaneOptions } from './lane.js';

/** Work of a lane: end a hold, open one, or end the plan of an account if it is due. */
type LaneItem = ({ settle: Settle } | { reserve: ReserveRequest } | { sweep: string }) & { span?: Span | undefined };
type Outcome = SettleOutcome | ReserveOutcome | undefined;

export interface HoldLanesOptions extends Omit<LaneOptions<LaneItem, Outcome>, 'work' | 'share' | 'isPerishable' | 'logFields'> {
  lanes: number;
  /** Requests of one account that may wait in its lane. Default: a quarter of the queue. */
  accountQueueMax?: number;
  times: HoldTimes;
  /** Called after the commit of each batch. Must not throw. */
  onApplied?: (applied: Committed, milliseconds: number) => void;
  /** Replaces the database's clock in tests. */
  now?: () => number;
  /** Absent while traces are not exported. */
  tracer?: Tracer | undefined;
}

/** Sends requests to `applyBatch`. All requests of an account use one lane, so that they share batches. */
export class HoldLanes {
  private readonly lanes: Lane<LaneItem, Outcome>[];

  constructor(private readonly options: HoldLanesOptions) {
    const work = (connection: PgConnection, requests: readonly LaneItem[]): Promise<Outcome[]> => this.apply(connection, requests);
    const share = { findOwner, max: options.accountQueueMax ?? Math.ceil(options.queueMax / 4) };
    // A reserve is dropped after its deadline, since its caller has given up. A settle is never dropped for its age.
    const isPerishable = (request: LaneItem): boolean => 'reserve' in request;
    this.lanes = Array.from(
      { length: options.lanes },
      () => new Lane<LaneItem, Outcome>({ ...options, work, share, isPerishable, logFields }),
    );
  }

  /** Requests that wait for a batch. */
  get queued(): number {
    return this.lanes.reduce((sum, lane) => sum + lane.queued, 0);
  }

  /** Milliseconds that the oldest waiting request has waited. */
  get waitingMs(): number {
    return Math.max(...this.lanes.map((lane) => lane.waitingMs));
  }

  reserve(reserve: ReserveRequest): Promise<ReserveOutcome> {
    const span = findSpan('apply reserve', reserve, this.options.tracer);
    const outcome = this.findLane(reserve.accountId).push({ reserve, span }) as Promise<ReserveOutcome>;
    return span === undefined ? outcome : endWithOutcome(span, outcome);
  }

  settle(settle: Settle): Promise<SettleOutcome> {
    const span = findSpan('apply settle', settle, this.options.tracer);
    const outcome = this.findLane(settle.accountId).push({ settle, span }) as Promise<SettleOutcome>;
    return span === undefined ? outcome : endWithOutcome(span, outcome);
  }

  async sweep(accountId: string): Promise<void> {
    await this.findLane(accountId).push({ sweep: accountId });
  }

  async open(): Promise<void> {
    await Promise.all(this.lanes.map((lane) => lane.open()));
  }

  /** Resolves when the queues are empty and the connections closed. */
  async close(): Promise<void> {
    await Promise.all(this.lanes.map((lane) => lane.close()));
  }

  private async apply(connection: PgConnection, requests: readonly LaneItem[]): Promise<Outcome[]> {
    const batch = {
      settles: requests.flatMap((request) => ('settle' in request ? [request.settle] : [])),
      reserves: requests.flatMap((request) => ('reserve' in request ? [request.reserve] : [])),
      sweeps: requests.flatMap((request) => ('sweep' in request ? [request.sweep] : [])),
    } satisfies Batch;
    const start = performance.now();
    const { times, now, tracer } = this.options;
    const span = tracer && findBatchSpan(requests, tracer);
    const applied = await underSpan(span, () => applyBatch(connection, batch, times, now?.()));
    this.options.onApplied?.(applied, performance.now() - start);
    const settles = applied.outcomes.settles.values();
    const reserves = applied.outcomes.reserves.values();
    return requests.map((request) =>
      'settle' in request ? settles.next().value : 'reserve' in request ? reserves.next().value : undefined,
    );
  }

  private findLane(accountId: string): Lane<LaneItem, Outcome> {
    const lane = this.lanes[accountShard(accountId, this.lanes.length)];
    if (!lane) throw new RangeError('there are no lanes');
    return lane;
  }
}

function findOwner(request: LaneItem): string {
  if ('settle' in request) return request.settle.accountId;
  return 'reserve' in request ? request.reserve.accountId : request.sweep;
}

/** A settle knows no request, but the lines of its hold name it. */
function logFields(item: LaneItem): object {
  if ('sweep' in item) return { accountId: item.sweep };
  if ('settle' in item) return { traceId: traceIdIn(item.settle), holdId: item.settle.holdId, accountId: item.settle.accountId };
  const { requestId, keyId, holdId, accountId } = item.reserve;
  return { requestId, traceId: traceIdIn(item.reserve) ?? ownTraceId(requestId), keyId, holdId, accountId };
}

function traceIdIn({ traceparent }: { traceparent?: string }): string | undefined {
  return traceparent === undefined ? undefined : readTraceId({ traceparent });
}

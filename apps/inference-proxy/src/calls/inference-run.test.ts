import type { SettleRequest } from '#contracts/billing/holds.js';
import type { GenerateRequest } from '#contracts/inference.js';
import type { StreamEvent } from '#inference/stream-event.js';
import type { Usage } from '#inference/usage.js';
import { NO_USAGE } from '#inference/usage.js';
import { createLogger } from '#observability/logger.js';
import { estimatedUsage } from '#testing/token-usage.js';
import { untilCollected } from '#testing/until-collected.js';
import { UpstreamFailure } from '../failures/upstream-failure.js';
import type { LeaseLoss } from '../leases/lease-keeper.js';
import type { CallEnd } from '../metrics/route-metrics.js';
import type { RouteCall } from '../routing/route-state.js';
import { InferenceRun } from './inference-run.js';
import type { UsageMeter } from './usage-meter.js';

const TICKET = {
  holdId: '01990000-0000-7000-8000-000000000001',
  accountId: '01990000-0000-7000-8000-000000000002',
  requestId: 'req_1',
  outputTokensMax: 100,
  promptTokensEstimate: 20,
  leaseMs: 60_000,
};
const HELLO: StreamEvent = { type: 'text-delta', text: 'Hello' };
const FINISH: StreamEvent = { type: 'completion-finish', reason: 'stop' };
const SO_FAR = estimatedUsage(20, 2);

/** Fakes of leases, settlements and the call. */
interface Surroundings {
  lease: { read?: () => Usage; lose?: (loss: LeaseLoss) => void; unsettled?: (() => void) | undefined };
  /** With the gateway of each, which is kept as long. */
  settlements: { read: () => SettleRequest; gateway: object; delayMs: number | undefined }[];
  ends: CallEnd[];
  client: AbortController;
  call: RouteCall;
}

function surround(): Surroundings {
  const ends: CallEnd[] = [];
  const call = { client: { upstream: { id: 'test' } }, oddities: new Map(), end: (end: CallEnd) => ends.push(end) } as unknown as RouteCall;
  return { lease: {}, settlements: [], ends, client: new AbortController(), call };
}

function newRun({ lease, settlements, client }: Surroundings, request: Partial<GenerateRequest['request']>): InferenceRun {
  return new InferenceRun(
    { ticket: TICKET, request } as GenerateRequest,
    { signal: client.signal, callerIsThere: async () => false },
    {
      leases: {
        keep: (_ticket, read, lose) => {
          Object.assign(lease, { read, lose });
          return (unsettled) => {
            // Like the keeper, which keeps only this of an ended request.
            lease.read = undefined;
            lease.lose = undefined;
            lease.unsettled = unsettled;
          };
        },
      },
      settlements: { schedule: (read, gateway, _fields, delayMs) => settlements.push({ read, gateway, delayMs }), settleAfter: fail },
      logger: createLogger('test', 'silent'),
    },
  );
}

function fail(): never {
  throw new Error('nothing is read on');
}

/** Returns a run that has returned `events`. */
function begin(events: StreamEvent[]) {
  const around = surround();
  const run = newRun(around, { stream: true });
  receive(run.startAttempt(around.call), events);
  run.markReturned(events);
  return { run, ...around };
}

/** Returns a run that has collected `events` and returned nothing. */
function beginPlain(events: StreamEvent[]) {
  const around = surround();
  const run = newRun(around, { stream: false });
  receive(run.startAttempt(around.call), events);
  run.collect(events);
  return { run, ...around };
}

function receive(meter: UsageMeter, events: StreamEvent[]): void {
  for (const event of events) meter.count(event);
}

test.each([
  ['lost', 'model_unavailable'],
  ['revoked', 'invalid_api_key'],
] as const)('a lease that is %s stops the upstream: the stream says so, with what it has used', (loss, code) => {
  const { run, lease } = begin([HELLO]);
  lease.lose?.(loss);
  expect(run.isAborted).toBe(true);
  expect([...run.lastBatches(undefined)].flat()).toEqual([
    { type: 'usage-report', usage: SO_FAR },
    { type: 'completion-failure', code, message: expect.any(String), retryAfterSeconds: undefined },
  ]);
});

test.each([
  ['a finished one', [HELLO, FINISH], { reason: 'completed', usage: SO_FAR }],
  ['one that broke after content', [HELLO], { reason: 'failed', usage: SO_FAR }],
  ['one that failed before content', [], { reason: 'failed', usage: undefined }],
])('a hold that its gateway left unsettled is settled as soon as it is found: %s', (_, events, settlement) => {
  const { run, lease, settlements } = begin(events);
  Array.from(run.lastBatches(undefined));
  run.end();
  expect(settlements).toEqual([]);
  lease.unsettled?.();
  const { holdId, accountId } = TICKET;
  expect(settlements.map(({ read, delayMs }) => [read(), delayMs])).toEqual([[{ holdId, accountId, upstream: 'test', ...settlement }, 0]]);
});

test('a request whose reader left is settled once, after a delay', () => {
  const { run, lease, settlements, client } = begin([HELLO]);
  client.abort();
  run.end();
  const { holdId, accountId } = TICKET;
  expect(settlements.map(({ read, delayMs }) => [read(), delayMs])).toEqual([
    [{ holdId, accountId, reason: 'client-disconnected', usage: SO_FAR, upstream: 'test' }, undefined],
  ]);
  expect(lease.unsettled).toBeUndefined();
});

describe('a failed attempt before anything was returned', () => {
  const BROKEN = new UpstreamFailure('broken', 'upstream_error');
  const { holdId, accountId } = TICKET;

  test('is not billed when its reader leaves before the next attempt', () => {
    const { run, lease, settlements, client } = beginPlain([HELLO]);
    expect(lease.read?.()).toEqual(SO_FAR);
    run.endCall(BROKEN);
    expect(lease.read?.()).toEqual(NO_USAGE);
    client.abort();
    expect([...run.lastBatches(BROKEN)].flat()).toEqual([{ type: 'usage-report', usage: NO_USAGE }]);
    run.end();
    expect(settlements.map(({ read }) => read())).toEqual([
      { holdId, accountId, reason: 'client-disconnected', usage: NO_USAGE, upstream: undefined },
    ]);
  });

  test('is not billed when its hold is lost before the next attempt', () => {
    const { run, lease } = beginPlain([HELLO]);
    run.endCall(BROKEN);
    lease.lose?.('lost');
    expect([...run.lastBatches(BROKEN)].flat()).toEqual([
      { type: 'completion-failure', code: 'model_unavailable', message: expect.any(String), retryAfterSeconds: undefined },
    ]);
  });

  test('is reported with its upstream when there is no next attempt', () => {
    const { run } = beginPlain([HELLO]);
    run.endCall(BROKEN);
    expect([...run.lastBatches(BROKEN)].flat()).toEqual([
      { type: 'upstream-start', upstream: 'test' },
      { type: 'completion-failure', code: 'upstream_error', message: BROKEN.message, retryAfterSeconds: undefined },
    ]);
  });

  test('adds nothing to the next attempt', () => {
    const { run, call } = beginPlain([HELLO]);
    run.endCall(BROKEN);
    receive(run.startAttempt(call), [FINISH]);
    run.collect([FINISH]);
    expect(run.returnCollected()).toEqual([{ type: 'upstream-start', upstream: 'test', attempt: 2 }, FINISH]);
  });
});

test('neighbouring deltas of a plain reply are joined', () => {
  const { run } = beginPlain([HELLO]);
  run.collect([{ type: 'text-delta', text: ', you' }]);
  run.collect([{ type: 'reasoning-delta', text: 'Well' }, FINISH]);
  expect(run.returnCollected().slice(1)).toEqual([
    { type: 'text-delta', text: 'Hello, you' },
    { type: 'reasoning-delta', text: 'Well' },
    FINISH,
  ]);
});

describe('a route is freed once', () => {
  test.each<[string, string, (begun: ReturnType<typeof begin>) => void]>([
    ['the reply is whole', 'completed', ({ run }) => void [run.markReturned([FINISH]), run.endCall()]],
    ['its reader has left', 'cancelled', ({ client }) => client.abort()],
    ['its hold is lost', 'cancelled', ({ lease }) => lease.lose?.('lost')],
    ['the run has ended without it', 'cancelled', ({ run }) => run.end()],
  ])('as soon as %s', (_, outcome, happen) => {
    const begun = begin([HELLO]);
    happen(begun);
    expect(begun.ends).toEqual([{ outcome, failure: undefined, usage: SO_FAR, unbilledTokens: 0 }]);
    begun.run.endCall();
    begun.run.end();
    expect(begun.ends).toHaveLength(1);
  });
});

describe('an ended run does not keep its request in memory while its settlement is open', () => {
  /** Everything that leases and settlements keep in memory. */
  function endOne(happen: (run: InferenceRun, around: Surroundings) => void) {
    const { call, ...around } = surround();
    const request = { stream: false };
    const run = newRun({ call, ...around }, request);
    receive(run.startAttempt(call), [HELLO]);
    run.collect([HELLO]);
    happen(run, { call, ...around });
    run.end();
    return { ...around, request: new WeakRef(request) };
  }

  test('after its reader has left', async () => {
    const { request, settlements } = endOne((_run, { client }) => client.abort());
    await untilCollected(request);
    expect(settlements.map(({ read }) => read().usage)).toEqual([SO_FAR]);
  });

  test('while its reader is there', async () => {
    const { request, lease, settlements } = endOne((run) => run.returnCollected());
    await untilCollected(request);
    lease.unsettled?.();
    expect(settlements.map(({ read }) => read().usage)).toEqual([SO_FAR]);
  });
});

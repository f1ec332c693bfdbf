import { Registry } from 'prom-client';
import type { SettleRequest } from '#contracts/billing/holds.js';
import type { Route, Upstream } from '#contracts/catalog.js';
import type { GenerateRequest } from '#contracts/inference.js';
import type { InferenceRequest } from '#inference/request.js';
import type { StreamEvent } from '#inference/stream-event.js';
import type { Usage } from '#inference/usage.js';
import { DETACHED } from '#messaging/messaging.js';
import { createLogger, type Logger } from '#observability/logger.js';
import type { Tracer } from '#tracing/tracer.js';
import type { Reader } from '../src/calls/inference-run.js';
import { type InferenceDependencies, streamInference } from '../src/calls/stream-inference.js';
import type { LeaseLoss } from '../src/leases/lease-keeper.js';
import type { RoutingOptions } from '../src/routing/route-table.js';
import { grammarFault } from './event-grammar.js';
import { testTable } from './routing-fixture.js';
import { TestUpstream } from './test-upstream.js';

export const START: StreamEvent = { type: 'upstream-start', upstream: 'test' };
export const REPORTED: StreamEvent = usage({ promptTokens: 12, outputTokens: 3, promptSource: 'reported', outputSource: 'reported' });
export const STOP: StreamEvent = { type: 'completion-finish', reason: 'stop' };

export function text(value: string): StreamEvent {
  return { type: 'text-delta', text: value };
}

export function usage(over: Partial<Usage>): StreamEvent {
  return {
    type: 'usage-report',
    usage: {
      promptTokens: 20,
      cachedTokens: 0,
      outputTokens: 0,
      reasoningTokens: 0,
      promptSource: 'estimated',
      outputSource: 'counted',
      ...over,
    },
  };
}

export function failure(code: string, retryAfterSeconds?: number): StreamEvent {
  return { type: 'completion-failure', code, message: expect.any(String), retryAfterSeconds } as unknown as StreamEvent;
}

/** Returns a plain request with one user turn. */
function asking(prompt: string, over: Partial<InferenceRequest> = {}): InferenceRequest {
  return {
    model: 'our-model',
    turns: [{ role: 'user', parts: [{ type: 'text', text: prompt }] }],
    tools: [],
    output: { kind: 'text' },
    stream: false,
    hints: {},
    ...over,
  };
}

export function reader(signal: AbortSignal = new AbortController().signal): Reader {
  return { signal, callerIsThere: async () => !signal.aborted };
}

export interface Setting {
  /** By default each is a tier of its own, so they are tried in this order. */
  upstreams: Upstream[];
  routes?: Partial<Route>[];
  request?: Partial<InferenceRequest>;
  outputTokensMax?: number;
  promptTokensEstimate?: number;
  attemptsMax?: number;
  failoverMs?: number;
  terms?: Partial<RoutingOptions>;
  /** Default: a silent one. */
  logger?: Logger;
  tracer?: Tracer;
}

/** Starts a request with real routes, sockets and dialects, and fake leases and settlements. */
export function startRequest(setting: Setting) {
  const registry = new Registry();
  const { logger = createLogger('test', 'silent'), tracer } = setting;
  const table = testTable(setting.terms, registry, logger);
  const { upstreams } = setting;
  const routes = (setting.routes ?? upstreams.map(({ id }, priority) => ({ upstream: id, priority }))).map((route) => ({
    upstream: 'test',
    model: 'their-model',
    weight: 1,
    priority: 0,
    ...route,
  }));
  table.apply({ revision: 1, upstreams, models: [{ id: 'our-model', routes }] });
  const lease: { read?: () => Usage; lose?: (loss: LeaseLoss) => void; ended?: true } = {};
  const settlements: (() => SettleRequest)[] = [];
  const closing = new AbortController();
  const deferred: Promise<SettleRequest>[] = [];
  const dependencies: InferenceDependencies = {
    routes: table,
    leases: {
      keep: (_ticket, read, lose) => {
        Object.assign(lease, { read, lose });
        return () => Object.assign(lease, { ended: true });
      },
    },
    settlements: { schedule: (read) => settlements.push(read), settleAfter: (read) => deferred.push(read(closing.signal)) },
    logger,
    tracer,
    ...(tracer && { tracedUpstreams: new Set<string>() }),
    attemptsMax: setting.attemptsMax ?? 3,
    failoverMs: setting.failoverMs ?? 60_000,
  };
  const job: GenerateRequest = {
    ticket: {
      holdId: '01990000-0000-7000-8000-000000000001',
      accountId: '01990000-0000-7000-8000-000000000002',
      requestId: 'req_1',
      outputTokensMax: setting.outputTokensMax ?? 100,
      promptTokensEstimate: setting.promptTokensEstimate ?? 20,
      leaseMs: 60_000,
    },
    request: asking('Hi', { stream: true, ...setting.request }),
  };
  const client = new AbortController();
  const stream = streamInference(job, reader(client.signal), dependencies);
  /** Does what the gateway does when its client disconnects. */
  const leave = (): void => client.abort(DETACHED);
  return { stream, client, leave, lease, settlements, deferred, closing, table, registry, dependencies, job };
}

/** The upstream of the running test, in a file that calls `startUpstreamBeforeEach`. */
export let upstream: TestUpstream;
/** The last entry is stopped first. */
const stops: (() => Promise<void>)[] = [];

/** Starts `upstream` before each test of the file. Stops it afterwards, and whatever the test has started. */
export function startUpstreamBeforeEach(): void {
  beforeEach(async () => {
    upstream = await TestUpstream.start();
    stopAfterwards(upstream);
  });
  afterEach(async () => {
    for (const stop of stops.splice(0).reverse()) await stop();
  });
}

export function stopAfterwards(other: TestUpstream): void {
  stops.push(() => other.stop());
}

/** Starts a request, by default to `upstream`. Its routes are closed after the test. */
export function setUp(setting: Partial<Setting> = {}) {
  const started = startRequest({ upstreams: [upstream.definition()], ...setting });
  stops.push(() => started.table.close());
  return started;
}

/** Returns all events of a request, and checks their grammar. */
export async function collect(
  stream: AsyncIterable<readonly StreamEvent[]>,
  ending: 'terminal' | 'open' = 'terminal',
): Promise<StreamEvent[]> {
  const events: StreamEvent[] = [];
  for await (const batch of stream) events.push(...batch);
  expect(grammarFault(events, ending)).toBeUndefined();
  return events;
}

import type { Upstream, UpstreamCapabilities } from '#contracts/catalog.js';
import { CompletionCollector } from '#inference/collect-completion.js';
import { estimatePromptTokens } from '#inference/estimate-tokens.js';
import { measurePrompt } from '#inference/prompt-size.js';
import type { InferenceRequest } from '#inference/request.js';
import { isContent } from '#inference/stream-event.js';
import { callUpstream } from '../calls/call-upstream.js';
import { UsageMeter } from '../calls/usage-meter.js';
import { UpstreamFailure } from '../failures/upstream-failure.js';
import { UpstreamClient } from '../routing/upstream-client.js';
import { readApiKey } from '../transport/api-key.js';
import { ConnectionFault } from '../transport/connection-fault.js';
import { type Observation, observeAdapter } from './observe-adapter.js';
import type { Exchange, ExchangeFailure, Probe } from './probe-result.js';

/** Enough for a model that reasons about a simple question, and little enough to cost next to nothing. */
const OUTPUT_TOKENS_DEFAULT = 512;
/** The first of all may have to wait for a model that is being loaded. */
const FIRST_PROBE_MS = 150_000;
const PROBE_MS = 60_000;
/** How long, in all, a test waits for an upstream that is busy. */
const PATIENCE_MS = 60_000;
const WAIT_MS_MAX = 20_000;
const CLOSING_MS = 250;
const TOKENS_PER_IMAGE = 1_600;
const WORDS_LENGTH_MAX = 110;

/**
 * Sends probes to one model of an upstream, as requests go there: by the same adapter, pool, address guard, timeouts and secret. No
 * ticket, no hold, no ledger. A busy upstream is waited for, a fault of the moment is tried once more.
 */
export class Prober {
  readonly tally = { requests: 0, promptTokens: 0, outputTokens: 0 };
  /** What the upstream can do, as far as it is known by now; checks add to it. */
  capabilities: UpstreamCapabilities;
  private readonly client: UpstreamClient;
  private patienceMs = PATIENCE_MS;
  private hasAnswered = false;

  constructor(
    readonly upstream: Upstream,
    readonly model: string,
    private readonly signal: AbortSignal,
    /** By the clock of `Date`: no probe goes on beyond it. */
    private readonly deadline: number,
  ) {
    this.capabilities = { ...upstream.capabilities };
    // Two sockets: one that is being closed, and one to go on with.
    this.client = new UpstreamClient({ ...upstream, connectionsMax: 2 });
  }

  /** Why the key that the upstream names is not there, if so. */
  get missingKey(): string | undefined {
    try {
      readApiKey(this.upstream);
      return undefined;
    } catch (error) {
      if (error instanceof UpstreamFailure) return error.detail;
      throw error;
    }
  }

  get pool(): UpstreamClient['pool'] {
    return this.client.pool;
  }

  get basePath(): string {
    return this.client.basePath;
  }

  /** What goes with every request: the key, in the dialect's own header. */
  get headers(): Record<string, string> {
    const { adapter, upstream } = this.client;
    const { capabilities } = upstream;
    const call = { request: requestOf({ turns: 'x' }, this.model), model: this.model, outputTokensMax: 16, stream: false, capabilities };
    return adapter.renderRequest(call, this.apiKey).headers;
  }

  /** The same for another model, with what is known of this one. */
  withModel(model: string): Prober {
    const other = new Prober({ ...this.upstream, capabilities: this.capabilities }, model, this.signal, this.deadline);
    other.patienceMs = this.patienceMs;
    other.hasAnswered = this.hasAnswered;
    return other;
  }

  /** Throws only the signal's reason. */
  async send(probe: Probe): Promise<Exchange> {
    for (let hasFailed = false; ; hasFailed = true) {
      const exchange = await this.attempt(probe);
      if (exchange.failure === undefined) {
        this.hasAnswered = true;
        return exchange;
      }
      const waitMs = waitBefore(exchange.failure, hasFailed || !this.hasAnswered);
      if (waitMs === undefined || waitMs > this.patienceMs) return exchange;
      this.patienceMs -= waitMs;
      await pause(waitMs, this.signal);
    }
  }

  async close(): Promise<void> {
    await this.client.close();
  }

  private async attempt(probe: Probe): Promise<Exchange> {
    const limitMs = Math.max(1_000, Math.min(this.hasAnswered ? PROBE_MS : FIRST_PROBE_MS, this.deadline - Date.now()));
    const left = new AbortController();
    const timeout = AbortSignal.timeout(limitMs);
    const reading = new Reading();
    const seen: Observation = {};
    let connected = 0;
    try {
      const signal = AbortSignal.any([this.signal, timeout, left.signal]);
      for await (const events of this.call(probe, seen, signal)) {
        reading.take(events);
        if (probe.leaveAtContent && reading.contentAtMs.length > 0 && !reading.isOver) {
          connected = this.pool.stats.connected;
          left.abort();
        }
      }
    } catch (error) {
      this.signal.throwIfAborted();
      if (left.signal.aborted) reading.closedAfterMs = await this.untilFewerThan(connected);
      else if (timeout.aborted)
        reading.failure = { kind: 'timeout', code: 'upstream_timeout', words: `no end of it within ${Math.round(limitMs / 1_000)} s` };
      else reading.failure = this.describe(error, seen);
    }
    return this.count(reading.exchange(seen));
  }

  private call(probe: Probe, seen: Observation, signal: AbortSignal): ReturnType<typeof callUpstream> {
    const { pool, basePath, refusal } = this.client;
    const request = requestOf(probe, this.model);
    const outputTokensMax = probe.outputTokensMax ?? OUTPUT_TOKENS_DEFAULT;
    const promptTokensEstimate = estimatePromptTokens(measurePrompt(request, false), TOKENS_PER_IMAGE);
    const upstream = { ...this.upstream, capabilities: { ...this.capabilities, ...probe.capabilities } };
    const client = { upstream, adapter: observeAdapter(this.client.adapter, seen), pool, basePath, refusal };
    const ticket = { holdId: '', accountId: '', requestId: 'upstream-test', outputTokensMax, promptTokensEstimate, leaseMs: 1 };
    const meter = new UsageMeter({ promptTokensEstimate, outputTokensMax });
    return callUpstream({ client, model: this.model }, { request, ticket }, meter, this.apiKey, signal);
  }

  private count(exchange: Exchange): Exchange {
    this.tally.requests += 1;
    this.tally.promptTokens += exchange.usage?.promptTokens ?? 0;
    this.tally.outputTokens += exchange.usage?.outputTokens ?? 0;
    return exchange;
  }

  private describe(error: unknown, { status }: Observation): ExchangeFailure {
    if (!(error instanceof UpstreamFailure)) return { kind: 'limit', code: 'internal_error', words: 'a fault of Tollgate’s own' };
    const { kind, code, detail, retryAfterSeconds, cause } = error;
    const connectionFault = cause instanceof ConnectionFault ? cause.message : undefined;
    return { kind, code, status, errorCode: errorCodeOf(cause), connectionFault, words: shortened(detail), retryAfterSeconds };
  }

  private get apiKey(): string | undefined {
    return this.missingKey === undefined ? readApiKey(this.upstream) : undefined;
  }

  /** How long it took until a socket was closed; undefined when none was in time. */
  private async untilFewerThan(connected: number): Promise<number | undefined> {
    const leftAt = performance.now();
    for (;;) {
      const elapsedMs = performance.now() - leftAt;
      if (this.pool.stats.connected < connected) return elapsedMs;
      if (elapsedMs > CLOSING_MS) return undefined;
      await new Promise(setImmediate);
    }
  }
}

/** A reply while it comes in. */
class Reading {
  readonly contentAtMs: number[] = [];
  failure: ExchangeFailure | undefined;
  closedAfterMs: number | undefined;
  isOver = false;
  private readonly startedAt = performance.now();
  private readonly collector = new CompletionCollector();
  private usage: Exchange['usage'];

  take(events: Parameters<CompletionCollector['add']>[0][]): void {
    if (events.some(isContent)) this.contentAtMs.push(performance.now() - this.startedAt);
    for (const event of events) {
      this.collector.add(event);
      if (event.type === 'usage-report') this.usage = event.usage;
      if (event.type === 'completion-finish') this.isOver = true;
    }
  }

  exchange({ reasoningField }: Observation): Exchange {
    const completion = this.isOver ? this.collector.finish() : undefined;
    return {
      failure: this.failure,
      text: completion?.text ?? '',
      reasoning: completion?.reasoning ?? '',
      toolCalls: completion?.toolCalls ?? [],
      finishReason: completion?.finishReason,
      usage: this.usage,
      contentAtMs: this.contentAtMs,
      totalMs: performance.now() - this.startedAt,
      reasoningField,
      closedAfterMs: this.closedAfterMs,
    };
  }
}

function requestOf({ turns, tools = [], toolChoice, output, stop, hints, stream }: Probe, model: string): InferenceRequest {
  return {
    model,
    turns: typeof turns === 'string' ? [{ role: 'user', parts: [{ type: 'text', text: turns }] }] : turns,
    tools,
    toolChoice,
    stop,
    output: output ?? { kind: 'text' },
    stream: stream ?? false,
    hints: hints ?? {},
  };
}

/** How long to wait before it is worth another try; undefined: it is not. */
function waitBefore({ kind, code, status, retryAfterSeconds }: ExchangeFailure, isLast: boolean): number | undefined {
  if (code === 'model_capacity') return Math.min(WAIT_MS_MAX, (retryAfterSeconds ?? 5) * 1_000);
  const isOfTheMoment =
    kind === 'stale' || kind === 'unanswered' || kind === 'broken' || kind === 'empty' || (status !== undefined && status >= 500);
  return isOfTheMoment && !isLast ? 200 : undefined;
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(done, ms);
    function done(): void {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      if (signal.aborted) reject(signal.reason as Error);
      else resolve();
    }
    signal.addEventListener('abort', done, { once: true });
    if (signal.aborted) done();
  });
}

function shortened(words: string): string {
  return words.length > WORDS_LENGTH_MAX ? `${words.slice(0, WORDS_LENGTH_MAX)}…` : words;
}

/** Of the error itself or of what caused it; where several addresses of one name fail together, of the first. */
function errorCodeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  const { name, code, cause, errors } = error as { name?: unknown; code?: unknown; cause?: unknown; errors?: unknown };
  if (name === 'HTTPParserError') return 'HPE';
  if (typeof code === 'string') return code;
  return Array.isArray(errors) ? errorCodeOf(errors[0]) : errorCodeOf(cause);
}

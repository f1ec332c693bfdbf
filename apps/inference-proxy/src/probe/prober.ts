import { setTimeout as delay } from 'node:timers/promises';
import type { Upstream, UpstreamCapabilities } from '#contracts/catalog.js';
import { EMBEDDING_DIMENSIONS_MAX } from '#contracts/rules/bounds.js';
import { CompletionCollector } from '#inference/completion-collector.js';
import { estimateBilledPromptTokens } from '#inference/estimate-tokens.js';
import { measurePrompt } from '#inference/prompt-size.js';
import type { InferenceRequest } from '#inference/request.js';
import { isContent } from '#inference/stream-event.js';
import { callUpstream } from '../calls/call-upstream.js';
import { UsageMeter } from '../calls/usage-meter.js';
import { ConnectionFault } from '../failures/connection-fault.js';
import { UpstreamFailure } from '../failures/upstream-failure.js';
import { UpstreamClient } from '../routing/upstream-client.js';
import { readApiKey, whyNoKey } from '../transport/api-key.js';
import { isObject } from '../upstreams/replies/json-object.js';
import { type Observation, observeAdapter } from './observe-adapter.js';
import type { EmbeddingResult, ProbeFailure, ProbeRequest, ProbeResult } from './probe-result.js';

/** Enough for a model that reasons about a simple question; costs next to nothing. */
const OUTPUT_TOKENS_DEFAULT = 512;
/** Longer than for other requests: the upstream may have to load the model first. */
const FIRST_PROBE_MS = 150_000;
const PROBE_MS = 60_000;
/** Total time that one probe run waits for a busy upstream. */
const BUSY_WAIT_MS = 60_000;
const WAIT_MS_MAX = 20_000;
const CLOSING_MS = 250;
const TOKENS_PER_IMAGE = 1_600;
const TEXT_LENGTH_MAX = 110;

/**
 * Sends probe requests to one model of an upstream through the same adapter, pool, address guard, timeouts and key as client
 * requests. There is no hold and no bill. Waits for a busy upstream, and repeats a request that failed for a passing reason once.
 */
export class Prober {
  readonly tally = { requests: 0, promptTokens: 0, outputTokens: 0 };
  /** Capabilities found so far; checks add to them. */
  capabilities: UpstreamCapabilities;
  readonly client: UpstreamClient;
  private busyWaitMs = BUSY_WAIT_MS;
  private hasAnswered = false;

  constructor(
    readonly upstream: Upstream,
    readonly model: string,
    private readonly signal: AbortSignal,
    /** As `Date.now()`; no request continues beyond it. */
    private readonly deadline: number,
  ) {
    this.capabilities = { ...upstream.capabilities };
    // Two sockets: one may still be closing while the other is used.
    this.client = new UpstreamClient({ ...upstream, connectionsMax: 2 });
  }

  /** Reason that the configured key cannot be read; undefined when it can, or when none is configured. */
  get missingKey(): string | undefined {
    return whyNoKey(this.upstream);
  }

  /** Returns the headers of a GET, with the key in the dialect's own header or by the credential. Rejects without one. */
  async headersFor(path: string): Promise<Record<string, string>> {
    const { adapter, upstream, credential } = this.client;
    const { baseUrl, capabilities } = upstream;
    const request = toRequest({ turns: 'x' }, this.model);
    const size = { outputTokensMax: 16, promptTokensEstimate: 1 };
    const call = { request, model: this.model, baseUrl, ...size, accountId: '', stream: false, capabilities };
    const headers = {
      ...(this.missingKey === undefined && this.client.headers()),
      ...adapter.renderRequest(call, this.apiKey).headers,
    };
    return { ...headers, ...(await credential?.authorize({ method: 'GET', path, headers })) };
  }

  /** Returns a prober for another model of the same upstream that starts with the capabilities found here. */
  withModel(model: string): Prober {
    const other = new Prober({ ...this.upstream, capabilities: this.capabilities }, model, this.signal, this.deadline);
    other.busyWaitMs = this.busyWaitMs;
    other.hasAnswered = this.hasAnswered;
    return other;
  }

  /** Rejects only with the signal's reason; every other failure is in the result. */
  async send(probe: ProbeRequest): Promise<ProbeResult> {
    for (let hasFailed = false; ; hasFailed = true) {
      const result = await this.attempt(probe);
      if (result.failure === undefined) {
        this.hasAnswered = true;
        return result;
      }
      const waitMs = waitBefore(result.failure, hasFailed || !this.hasAnswered);
      if (waitMs === undefined || waitMs > this.busyWaitMs) return result;
      this.busyWaitMs -= waitMs;
      await delay(waitMs, undefined, { signal: this.signal }).catch(() => this.signal.throwIfAborted());
    }
  }

  /** Asks the model for one vector. Rejects only with the signal's reason. */
  async embed(): Promise<EmbeddingResult> {
    const seen: Observation = {};
    const signal = AbortSignal.any([this.signal, AbortSignal.timeout(this.limitMs)]);
    const request = { ...toRequest({ turns: [] }, this.model), embedding: { inputs: ['pong'] } };
    let dimensions: number | undefined;
    const onReply = (reply: Record<string, unknown>): void => {
      dimensions = readDimensions(reply);
    };
    try {
      // The length is not known before: no vector has the longest one that is allowed, and the reply tells its own.
      const options = { onReply, embeddingDimensions: EMBEDDING_DIMENSIONS_MAX };
      for await (const _ of this.open(request, seen, signal, options));
    } catch (error) {
      this.signal.throwIfAborted();
      const failure = dimensions === undefined ? this.describe(error, seen) : undefined;
      this.tally.requests += 1;
      return failure === undefined ? { dimensions } : { failure };
    }
    this.tally.requests += 1;
    return { dimensions };
  }

  async close(): Promise<void> {
    this.client.credential?.close();
    await this.client.close();
  }

  private async attempt(probe: ProbeRequest): Promise<ProbeResult> {
    const { limitMs } = this;
    const left = new AbortController();
    const timeout = AbortSignal.timeout(limitMs);
    const reading = new ReplyReader();
    const seen: Observation = {};
    let connected = 0;
    try {
      const signal = AbortSignal.any([this.signal, timeout, left.signal]);
      for await (const events of this.call(probe, seen, signal)) {
        reading.take(events);
        if (probe.leaveAtContent && reading.contentAtMs.length > 0 && !reading.isOver) {
          connected = this.client.pool.stats.connected;
          left.abort();
        }
      }
    } catch (error) {
      this.signal.throwIfAborted();
      if (left.signal.aborted) reading.closedAfterMs = await this.untilFewerThan(connected);
      else if (timeout.aborted)
        reading.failure = { kind: 'timeout', code: 'upstream_timeout', text: `no complete reply within ${Math.round(limitMs / 1_000)} s` };
      else reading.failure = this.describe(error, seen);
    }
    return this.count(reading.result(seen));
  }

  /** Milliseconds that the next request may take. */
  private get limitMs(): number {
    return Math.max(1_000, Math.min(this.hasAnswered ? PROBE_MS : FIRST_PROBE_MS, this.deadline - Date.now()));
  }

  private call(probe: ProbeRequest, seen: Observation, signal: AbortSignal): ReturnType<typeof callUpstream> {
    return this.open(toRequest(probe, this.model), seen, signal, probe);
  }

  private open(
    request: InferenceRequest,
    seen: Observation,
    signal: AbortSignal,
    { outputTokensMax = OUTPUT_TOKENS_DEFAULT, capabilities, embeddingDimensions, onReply }: OpenOptions,
  ): ReturnType<typeof callUpstream> {
    const promptTokensEstimate = estimateBilledPromptTokens(measurePrompt(request), TOKENS_PER_IMAGE);
    const upstream = { ...this.upstream, capabilities: { ...this.capabilities, ...capabilities } };
    const client = { ...this.client, upstream, adapter: observeAdapter(this.client.adapter, seen) };
    const ticket = {
      holdId: '',
      accountId: '',
      requestId: 'probe',
      outputTokensMax,
      promptTokensEstimate,
      embeddingDimensions,
      leaseMs: 1,
    };
    const meter = new UsageMeter({ promptTokensEstimate, outputTokensMax });
    const path = this.client.findPath(this.model);
    return callUpstream({ client, model: this.model, path, onReply }, { request, ticket }, meter, this.apiKey, signal);
  }

  private count(result: ProbeResult): ProbeResult {
    this.tally.requests += 1;
    this.tally.promptTokens += result.usage?.promptTokens ?? 0;
    this.tally.outputTokens += result.usage?.outputTokens ?? 0;
    return result;
  }

  private describe(error: unknown, { status }: Observation): ProbeFailure {
    if (!(error instanceof UpstreamFailure)) return { kind: 'limit', code: 'internal_error', text: 'internal error of Tollgate' };
    const { kind, code, detail, refusal, upstreamText, retryAfterSeconds, cause } = error;
    const connectionFault = cause instanceof ConnectionFault ? cause.message : undefined;
    const text = kind === 'credential' ? detail : shortened(refusal === undefined ? detail : upstreamText || (refusal.upstreamCode ?? ''));
    return { kind, code, status, errorCode: readErrorCode(cause), connectionFault, text, retryAfterSeconds };
  }

  private get apiKey(): string | undefined {
    return this.missingKey === undefined ? readApiKey(this.upstream) : undefined;
  }

  /** Milliseconds until a socket is closed; undefined when none is within `CLOSING_MS`. */
  private async untilFewerThan(connected: number): Promise<number | undefined> {
    const leftAt = performance.now();
    for (;;) {
      const elapsedMs = performance.now() - leftAt;
      if (this.client.pool.stats.connected < connected) return elapsedMs;
      if (elapsedMs > CLOSING_MS) return undefined;
      await new Promise(setImmediate);
    }
  }
}

interface OpenOptions extends Pick<ProbeRequest, 'outputTokensMax' | 'capabilities'> {
  embeddingDimensions?: number;
  onReply?: (reply: Record<string, unknown>) => void;
}

/** Returns the length of the first vector of a reply; undefined without one. */
function readDimensions({ data }: Record<string, unknown>): number | undefined {
  const [first] = Array.isArray(data) ? (data as unknown[]) : [];
  const vector = isObject(first) ? first.embedding : undefined;
  if (Array.isArray(vector)) return vector.length;
  return typeof vector === 'string' ? Buffer.from(vector, 'base64').length / Float32Array.BYTES_PER_ELEMENT : undefined;
}

/** Collects one reply. */
class ReplyReader {
  readonly contentAtMs: number[] = [];
  failure: ProbeFailure | undefined;
  closedAfterMs: number | undefined;
  isOver = false;
  private readonly startedAt = performance.now();
  private readonly collector = new CompletionCollector();
  private usage: ProbeResult['usage'];

  take(events: Parameters<CompletionCollector['add']>[0][]): void {
    if (events.some(isContent)) this.contentAtMs.push(performance.now() - this.startedAt);
    for (const event of events) {
      this.collector.add(event);
      if (event.type === 'usage-report') this.usage = event.usage;
      if (event.type === 'completion-finish') this.isOver = true;
    }
  }

  result({ reasoningField }: Observation): ProbeResult {
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

function toRequest(probe: ProbeRequest, model: string): InferenceRequest {
  const { turns, tools = [], toolChoice, output, stop, temperature, topP, hints, stream } = probe;
  return {
    model,
    turns: typeof turns === 'string' ? [{ role: 'user', parts: [{ type: 'text', text: turns }] }] : turns,
    tools,
    toolChoice,
    stop,
    temperature,
    topP,
    output: output ?? { kind: 'text' },
    stream: stream ?? false,
    hints: hints ?? {},
  };
}

/** Milliseconds to wait before the request is repeated; undefined when it is not. */
function waitBefore({ kind, code, status, retryAfterSeconds }: ProbeFailure, isLast: boolean): number | undefined {
  if (code === 'model_capacity') return Math.min(WAIT_MS_MAX, (retryAfterSeconds ?? 5) * 1_000);
  const isPassing =
    kind === 'stale' || kind === 'unanswered' || kind === 'broken' || kind === 'empty' || (status !== undefined && status >= 500);
  return isPassing && !isLast ? 200 : undefined;
}

function shortened(text: string): string {
  return text.length > TEXT_LENGTH_MAX ? `${text.slice(0, TEXT_LENGTH_MAX)}…` : text;
}

/** Returns the system's error code of an error or its cause. Of several addresses that failed together, the first counts. */
function readErrorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  const { name, code, cause, errors } = error as { name?: unknown; code?: unknown; cause?: unknown; errors?: unknown };
  if (name === 'HTTPParserError') return 'HPE';
  if (typeof code === 'string') return code;
  return Array.isArray(errors) ? readErrorCode(errors[0]) : readErrorCode(cause);
}

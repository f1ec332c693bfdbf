import type { GenerateRequest } from '#contracts/inference.js';
import type { FinishReason } from '#inference/stream-event.js';
import type { CallContext } from '#messaging/messaging.js';
import { ownTraceId, readTraceId, unsampledContext } from '#tracing/trace-context.js';
import type { Span, Tracer } from '#tracing/tracer.js';
import type { UpstreamFailure } from '../failures/upstream-failure.js';
import type { RunFields } from '../leases/run-fields.js';
import type { CallEnd } from '../metrics/route-metrics.js';
import { type Operation, providerName } from '../metrics/route-metrics.js';
import type { RouteCall } from '../routing/route-state.js';

/** Longest name of a reply or of its model; a longer text of an upstream is none. */
const NAME_LENGTH_MAX = 256;

export interface TraceDependencies {
  /** Absent while traces are not exported. */
  tracer?: Tracer | undefined;
  /** Ids of the upstreams that get the trace context of their calls. Absent: none. */
  tracedUpstreams?: ReadonlySet<string>;
}

/** The spans of one run: its own, and one for each upstream call by OpenTelemetry's conventions for generative AI. Never holds content. */
export class RunTrace {
  readonly fields: RunFields;
  private readonly span: Span | undefined;
  private attempt: Span | undefined;
  private isReplyNamed = false;
  private attempts = 0;
  private lastFailure: UpstreamFailure | undefined;
  private circuit: string | undefined;

  constructor(
    private readonly job: GenerateRequest,
    trace: CallContext['trace'],
    private readonly dependencies: TraceDependencies,
  ) {
    const { ticket, request } = job;
    this.span = dependencies.tracer?.startRoot('generate', 'server', {
      parent: trace ?? unsampledContext(ticket.requestId, ticket.holdId),
      attributes: { 'tollgate.request_id': ticket.requestId, 'tollgate.hold_id': ticket.holdId, 'gen_ai.request.model': request.model },
    });
    const traceId = this.span?.traceId ?? (trace === undefined ? ownTraceId(ticket.requestId) : readTraceId(trace));
    this.fields = { requestId: ticket.requestId, traceId, keyId: ticket.keyId, holdId: ticket.holdId };
  }

  /** Context of the run for its settlement, if it is exported. */
  get carried(): { traceparent: string } | undefined {
    return this.span?.isSampled ? { traceparent: this.span.context.traceparent } : undefined;
  }

  startAttempt(call: RouteCall): void {
    const { span } = this;
    if (span === undefined) return;
    this.attempts += 1;
    const { client, model, route } = call;
    if (this.attempts > 1) span.addEvent('retry', { 'tollgate.attempt': this.attempts, 'error.type': this.lastFailure?.kind });
    this.circuit = route.breaker.state;
    const isEmbedding = this.job.request.embedding !== undefined;
    const operation: Operation = isEmbedding ? 'embeddings' : 'chat';
    this.attempt = span.startChild(`${operation} ${model}`, 'client', {
      'gen_ai.operation.name': operation,
      'gen_ai.provider.name': providerName(client.upstream),
      'gen_ai.request.model': model,
      'gen_ai.request.stream': call.isStream,
      'gen_ai.request.max_tokens': isEmbedding ? undefined : this.job.ticket.outputTokensMax,
      'server.address': client.serverAddress,
      'server.port': client.serverPort,
      'tollgate.upstream': client.upstream.id,
      'tollgate.attempt': this.attempts,
      'tollgate.circuit': this.circuit,
    });
    call.onReply = (reply) => this.nameReply(reply);
    this.isReplyNamed = false;
    if (span.isSampled) call.traceId = span.traceId;
    if (this.dependencies.tracedUpstreams?.has(client.upstream.id)) call.traceparent = this.attempt.context.traceparent;
  }

  /** Records the names that the upstream gives to the reply and its model, from the first object that has either. */
  private nameReply(reply: Record<string, unknown>): void {
    if (this.isReplyNamed) return;
    const [id, model] = [readName(reply.id), readName(reply.model)];
    this.isReplyNamed = id !== undefined || model !== undefined;
    if (this.isReplyNamed) this.attempt?.set({ 'gen_ai.response.id': id, 'gen_ai.response.model': model });
  }

  /** Call after the route has learned from the end. `finishReason`: of a reply that was complete. */
  endAttempt(call: RouteCall, { outcome, failure, usage }: CallEnd, finishReason: FinishReason | undefined): void {
    const { route, startedAt, answeredAt, firstContentAt, isStream } = call;
    const { attempt } = this;
    this.attempt = undefined;
    this.lastFailure = failure;
    if (attempt === undefined) return;
    if (answeredAt !== undefined) attempt.addEvent('reply began', undefined, answeredAt);
    attempt.set({
      'tollgate.outcome': outcome,
      'gen_ai.response.finish_reasons': finishReason && [finishReason.replace('-', '_')],
      'gen_ai.response.time_to_first_chunk': isStream && firstContentAt !== undefined ? (firstContentAt - startedAt) / 1_000 : undefined,
      'gen_ai.usage.input_tokens': usage?.promptTokens,
      'gen_ai.usage.output_tokens': usage?.outputTokens,
      'gen_ai.usage.cache_read.input_tokens': usage?.cachedTokens,
      'gen_ai.usage.cache_creation.input_tokens': usage && (usage.cacheWriteTokens ?? 0) + (usage.cacheWrite1hTokens ?? 0),
      'gen_ai.usage.reasoning.output_tokens': usage?.reasoningTokens,
      'http.response.status_code': failure?.refusal?.status,
    });
    if (route.breaker.state !== this.circuit) attempt.addEvent(`circuit ${route.breaker.state}`);
    if (failure !== undefined) attempt.fail(failure.kind);
    attempt.end();
  }

  /** Records why no route was called: no route is left, the queue is full, or the retry budget is empty. */
  noRoute({ kind, detail }: UpstreamFailure): void {
    this.span?.addEvent('no route', { 'error.type': kind, 'tollgate.detail': detail });
  }

  /** Records that the run fails for its reader. */
  failed(code: string): void {
    this.span?.fail(code);
  }

  end(): void {
    this.span?.end();
  }
}

function readName(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' && value.length <= NAME_LENGTH_MAX ? value : undefined;
}

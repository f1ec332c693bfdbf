import { type Context, createContextKey, SpanStatusCode, TraceFlags } from '@opentelemetry/api';
import type { ReadableSpan, Span, SpanProcessor } from '@opentelemetry/sdk-trace';
import { bytesOf, type SpanQueue } from './span-queue.js';

/** Spans of requests in progress that may yet be exported, and their bytes by `bytesOf`. Beyond it the oldest requests are given up. */
const HELD_SPANS_MAX = 8_192;
const HELD_BYTES_MAX = 8 * 1024 * 1024;

/** The part of a trace that one process makes for one request: its first span, and all spans below. */
export class LocalTrace {
  root: Span | undefined;
  decision: 'open' | 'export' | 'discard' = 'open';
  held: ReadableSpan[] = [];
  bytes = 0;
}

/** Key of the `LocalTrace` in a context. */
export const LOCAL_TRACE = createContextKey('tollgate local trace');

/**
 * Decides which spans are exported. A span that the sampler chose is queued at its end. The others of a request are held until its first
 * span in this process ends: if that one failed or took at least `slowMs`, all of them are exported, otherwise none.
 */
export class TailProcessor implements SpanProcessor {
  private readonly localTraces = new WeakMap<object, LocalTrace>();
  /** Requests with held spans, the oldest first. */
  private readonly holding = new Set<LocalTrace>();
  private heldSpans = 0;
  private heldBytes = 0;

  constructor(
    private readonly queue: SpanQueue,
    private readonly slowMs: number,
  ) {}

  onStart(span: Span, parentContext: Context): void {
    if (isSampled(span)) return;
    const local = parentContext.getValue(LOCAL_TRACE) as LocalTrace | undefined;
    if (local === undefined) return;
    local.root ??= span;
    this.localTraces.set(span, local);
  }

  onEnd(span: ReadableSpan): void {
    const local = isSampled(span) ? undefined : this.localTraces.get(span);
    if (isSampled(span) || local?.decision === 'export') this.queue.push(span);
    if (local?.decision !== 'open') return;
    if (span !== local.root) this.hold(local, span);
    else if (this.isWorthIt(span)) this.exportAll(local, span);
    else this.discard(local);
  }

  async forceFlush(): Promise<void> {
    await this.queue.flush();
  }

  async shutdown(): Promise<void> {
    await this.queue.flush();
  }

  private isWorthIt({ status, duration: [seconds, nanoseconds] }: ReadableSpan): boolean {
    return status.code === SpanStatusCode.ERROR || seconds * 1_000 + nanoseconds / 1_000_000 >= this.slowMs;
  }

  private hold(local: LocalTrace, span: ReadableSpan): void {
    const bytes = bytesOf(span);
    local.held.push(span);
    local.bytes += bytes;
    this.heldSpans += 1;
    this.heldBytes += bytes;
    this.holding.add(local);
    while (this.heldSpans > HELD_SPANS_MAX || this.heldBytes > HELD_BYTES_MAX) {
      const [oldest = local] = this.holding;
      this.queue.counts.dropped += oldest.held.length;
      this.discard(oldest);
    }
  }

  private exportAll(local: LocalTrace, root: ReadableSpan): void {
    const { held } = local;
    this.discard(local);
    local.decision = 'export';
    for (const span of held) this.queue.push(span);
    this.queue.push(root);
  }

  private discard(local: LocalTrace): void {
    if (this.holding.delete(local)) {
      this.heldSpans -= local.held.length;
      this.heldBytes -= local.bytes;
    }
    local.decision = 'discard';
    local.held = [];
  }
}

function isSampled(span: Pick<ReadableSpan, 'spanContext'>): boolean {
  return (span.spanContext().traceFlags & TraceFlags.SAMPLED) !== 0;
}

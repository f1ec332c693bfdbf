import { randomUUIDv7 } from 'node:crypto';
import type { TraceContext } from './trace-context.js';
import type { Span, SpanAttributes, SpanKind } from './tracer.js';

/** An event within a span. `at` is of `performance.now()`. */
export interface SpanEvent {
  name: string;
  attributes: SpanAttributes | undefined;
  at: number;
}

/** Takes the spans that have ended. */
export interface SpanSink {
  ended(span: RecordedSpan): void;
  /** True when the trace of this first span will be exported, chosen or not. */
  isDue(root: RecordedSpan): boolean;
}

/** The part of a trace that one process makes for one request: its first span, and all spans below. */
export class LocalTrace {
  /** Decided when the first span ends. */
  fate: 'open' | 'export' | 'discard' = 'open';
  /** Ended spans that wait for the decision. */
  held: RecordedSpan[] = [];

  constructor(
    readonly traceId: string,
    /** Id of the caller's span; empty when the trace begins here. */
    readonly parentId: string,
    readonly traceState: string | undefined,
    public isSampled: boolean,
    /** False: no span of this part can be exported, so nothing is kept. */
    readonly isRecorded: boolean,
    readonly sink: SpanSink,
  ) {}
}

/**
 * A span as what its caller said: nothing is copied or converted before the export, and it has no id before one is read. Most spans are
 * never exported.
 */
export class RecordedSpan implements Span {
  readonly startedAt = performance.now();
  endedAt = 0;
  hasFailed = false;
  readonly attributes: SpanAttributes[];
  events: SpanEvent[] | undefined;
  links: RecordedSpan[] | undefined;

  constructor(
    readonly local: LocalTrace,
    /** Undefined for the first span of the process. */
    private readonly parent: RecordedSpan | undefined,
    readonly name: string,
    readonly kind: SpanKind,
    attributes: SpanAttributes | undefined,
    private id = '',
  ) {
    this.attributes = attributes === undefined ? [] : [attributes];
  }

  get traceId(): string {
    return this.local.traceId;
  }

  get isSampled(): boolean {
    return this.local.isSampled;
  }

  get isRoot(): boolean {
    return this.parent === undefined;
  }

  get spanId(): string {
    this.id ||= randomSpanId();
    return this.id;
  }

  /** Empty when the trace begins with this span. */
  get parentId(): string {
    return this.parent === undefined ? this.local.parentId : this.parent.spanId;
  }

  get context(): TraceContext {
    const { traceId, isSampled, traceState } = this.local;
    return { traceparent: `00-${traceId}-${this.spanId}-${isSampled ? '01' : '00'}`, tracestate: traceState };
  }

  /** Returns this span if nothing of the trace is recorded: its context says so to the services behind. */
  startChild(name: string, kind: SpanKind, attributes?: SpanAttributes, id?: string): Span {
    return this.local.isRecorded ? new RecordedSpan(this.local, this, name, kind, attributes, id) : this;
  }

  set(attributes: SpanAttributes): void {
    if (this.local.isRecorded) this.attributes.push(attributes);
  }

  addEvent(name: string, attributes?: SpanAttributes, at = performance.now()): void {
    if (!this.local.isRecorded) return;
    this.events ??= [];
    this.events.push({ name, attributes, at });
  }

  linkTo(other: Span): void {
    if (!this.local.isRecorded) return;
    this.links ??= [];
    this.links.push(other as RecordedSpan);
  }

  /** Call it on the first span of the process. */
  chooseIfDue(): void {
    if (this.local.isRecorded && this.local.sink.isDue(this)) this.local.isSampled = true;
  }

  fail(errorType: string): void {
    this.hasFailed = true;
    this.set({ 'error.type': errorType });
  }

  end(): void {
    if (!this.local.isRecorded) return;
    this.endedAt = performance.now();
    this.local.sink.ended(this);
  }
}

/** Returns a trace id, which is also the form of an id of a request. */
export function randomTraceId(): string {
  return randomUUIDv7().replaceAll('-', '');
}

function randomSpanId(): string {
  return randomHalf() + randomHalf();
}

/** Returns eight hexadecimal digits that are not all zero, so that the id is valid. */
function randomHalf(): string {
  return (1 + Math.floor(Math.random() * 0xffff_ffff)).toString(16).padStart(8, '0');
}

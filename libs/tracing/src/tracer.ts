import type { TraceContext } from './trace-context.js';

/** Values never contain content, keys or secrets. Undefined ones are left out. A span keeps the object: do not change it later. */
export type SpanAttributes = Record<string, string | number | boolean | readonly string[] | undefined>;

/** `server`: answers a call. `client`: makes one. */
export type SpanKind = 'server' | 'client';

/** Makes spans. A service has one only while traces are exported (`startTracing`), so callers write `tracer?.start…`. */
export interface Tracer {
  /** Starts the first span that this process has of a trace. Without a `parent` it begins a trace. */
  startRoot(name: string, kind: SpanKind, options?: RootOptions): Span;
  /** Exports the rest, for at most a few seconds. Call it when no span will end any more. */
  close(): Promise<void>;
}

export interface RootOptions {
  parent?: TraceContext | undefined;
  /** Id of a trace that begins here: 32 hexadecimal digits. Default: a random one. */
  traceId?: string;
  attributes?: SpanAttributes;
  /** Spans of other traces that this one serves. It is sampled when one of them is. */
  links?: readonly Span[];
}

/** One operation of a trace. Call nothing on it after `end`. */
export interface Span {
  readonly traceId: string;
  /** True when the trace was chosen at its start or by `chooseIfDue`, so that every service called from then on exports its part. */
  readonly isSampled: boolean;
  /** Context for calls that this operation makes. */
  readonly context: TraceContext;
  /** `id`: 16 hexadecimal digits. Default: random ones. */
  startChild(name: string, kind: SpanKind, attributes?: SpanAttributes, id?: string): Span;
  set(attributes: SpanAttributes): void;
  /** `at` is of `performance.now()`. Default: now. */
  addEvent(name: string, attributes?: SpanAttributes, at?: number): void;
  linkTo(other: Span): void;
  /** Chooses the trace if its first span here has failed or is slow already, because it will be exported in any case. */
  chooseIfDue(): void;
  /** Marks the operation as failed. `errorType` is a code, never a message. */
  fail(errorType: string): void;
  end(): void;
}

/** Runs work under a span and ends it; a rejection fails the span. Costs one comparison without a span. */
export function underSpan<Result>(span: Span | undefined, work: () => Promise<Result>): Promise<Result> {
  return span === undefined ? work() : endWith(span, work());
}

async function endWith<Result>(span: Span, work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    span.fail(describeErrorType(error));
    throw error;
  } finally {
    span.end();
  }
}

/** Returns the code or kind of an error, never its message. */
export function describeErrorType(error: unknown): string {
  const { code, kind, name } = (error ?? {}) as { code?: unknown; kind?: unknown; name?: unknown };
  return [code, kind, name].find((type) => typeof type === 'string') ?? 'unknown';
}

import {
  type Attributes,
  type AttributeValue,
  createTraceState,
  type HrTime,
  SpanKind as OtelKind,
  type SpanContext,
  SpanStatusCode,
  TraceFlags,
} from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import type { RecordedSpan } from './recorded-span.js';
import type { SpanAttributes, SpanKind } from './tracer.js';

/** Longest text of an attribute. Ids and names of models are shorter; a client can choose neither. */
const TEXT_MAX = 256;
/** Milliseconds by which the machine's clock must be off before times follow it. */
const CLOCK_STEP_MS = 50;

const KINDS: Record<SpanKind, OtelKind> = { server: OtelKind.SERVER, client: OtelKind.CLIENT };

export type SpanOrigin = Pick<ReadableSpan, 'resource' | 'instrumentationScope'>;

/** Returns a span in the form that the exporter takes. */
export function otlpSpan(span: RecordedSpan, { resource, instrumentationScope }: SpanOrigin): ReadableSpan {
  const { local, parentId, startedAt, endedAt } = span;
  const context = toContext(span);
  return {
    name: span.name,
    kind: KINDS[span.kind],
    spanContext: () => context,
    parentSpanContext: parentId === '' ? undefined : { ...context, spanId: parentId, isRemote: parentId === local.parentId },
    startTime: hrTime(startedAt),
    endTime: hrTime(endedAt),
    duration: [0, 0], // not exported
    ended: true,
    status: { code: span.hasFailed ? SpanStatusCode.ERROR : SpanStatusCode.UNSET },
    attributes: merged(span.attributes),
    events: (span.events ?? []).map(({ name, attributes, at }) => ({
      name,
      time: hrTime(at),
      attributes: merged(attributes === undefined ? [] : [attributes]),
      droppedAttributesCount: 0,
    })),
    links: (span.links ?? []).map((linked) => ({ context: toContext(linked) })),
    resource,
    instrumentationScope,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

function toContext({ spanId, local: { traceId, isSampled, traceState } }: RecordedSpan): SpanContext {
  const traceFlags = isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE;
  return { traceId, spanId, traceFlags, traceState: traceState === undefined ? undefined : createTraceState(traceState) };
}

/** Later values replace earlier ones. */
function merged(parts: readonly SpanAttributes[]): Attributes {
  const result: Attributes = {};
  for (const part of parts)
    for (const key in part) {
      const value = part[key];
      if (value !== undefined) result[key] = typeof value === 'string' ? value.slice(0, TEXT_MAX) : (value as AttributeValue);
    }
  return result;
}

/** Wall-clock time of `performance.now() === 0`. It stays the same while the clock does, so that spans of a request keep their order. */
let clockOrigin: number = performance.timeOrigin;

function hrTime(at: number): HrTime {
  const current = Date.now() - performance.now();
  if (Math.abs(current - clockOrigin) > CLOCK_STEP_MS) clockOrigin = current;
  const milliseconds = clockOrigin + at;
  const seconds = Math.floor(milliseconds / 1_000);
  return [seconds, Math.floor((milliseconds - seconds * 1_000) * 1_000_000)];
}

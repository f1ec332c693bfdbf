/** W3C trace context, as the headers `traceparent` and `tracestate` carry it. */
export interface TraceContext {
  traceparent: string;
  tracestate?: string | undefined;
}

/** Version 00, or a later one that may have more fields. All zeros and version ff are not valid. */
const TRACEPARENT =
  /^(?:00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}|(?!00|ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?)$/;
/** Request id that the gateway or the panel made. */
const OWN_REQUEST_ID = /^req_(?!0{32})[0-9a-f]{32}$/;
/** Visible characters of at most the length that every participant must pass on. */
const TRACESTATE = /^[\x20-\x7e]{1,512}$/;

/** Returns the context of a request as version 00; undefined without a valid `traceparent`. A `tracestate` that is not valid is left out. */
export function parseTraceContext(traceparent: unknown, tracestate: unknown): TraceContext | undefined {
  if (typeof traceparent !== 'string' || !TRACEPARENT.test(traceparent)) return undefined;
  const current = `00${traceparent.slice(2, 55)}`;
  return typeof tracestate === 'string' && TRACESTATE.test(tracestate) ? { traceparent: current, tracestate } : { traceparent: current };
}

/** Returns the trace id of a parsed context. */
export function readTraceId({ traceparent }: TraceContext): string {
  return traceparent.slice(3, 35);
}

/**
 * Returns the id of the trace of a request whose client sent none: the request id without `req_`, so that no message and no row needs to
 * carry it. It exists also while traces are not exported. Undefined for request ids of another form.
 */
export function ownTraceId(requestId: string): string | undefined {
  return OWN_REQUEST_ID.test(requestId) ? requestId.slice('req_'.length) : undefined;
}

/** Returns the id of the gateway's span that calls the inference-proxy for a hold: the random half of the hold's UUID, which is never zero. */
export function callSpanId(holdId: string): string {
  return holdId.slice(19).replace('-', '');
}

/**
 * Returns the context of that call in a trace that the gateway began and did not choose. No message carries it: both ends make it from the
 * ids of request and hold, so that most requests have no header to write and read. Undefined for ids of another form.
 */
export function unsampledContext(requestId: string, holdId: string): TraceContext | undefined {
  return parseTraceContext(`00-${requestId.slice('req_'.length)}-${callSpanId(holdId)}-00`, undefined);
}

/** True when the sender of a parsed context exports its part of the trace. */
export function isSampled({ traceparent }: TraceContext): boolean {
  return (Number.parseInt(traceparent.slice(53, 55), 16) & 1) !== 0;
}

import { randomUUIDv7 } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { GatewayError } from '#inference/errors.js';
import { UNKNOWN_ADDRESS } from '#observability/client-address.js';
import { readTraceId, type TraceContext } from '#tracing/trace-context.js';
import type { Span } from '#tracing/tracer.js';
import type { Caller } from '../clients/caller.js';
import type { InferenceRecord } from '../pipeline/inference-call.js';

/** State of one HTTP request and its reply, shared by all layers and written to the access log. */
export class HttpExchange {
  /**
   * Unique suffix of the request's id and of the reply's id, so that one can be found from the other. It grows with time (UUIDv7), because
   * appending to the end of the journal's index is cheapest.
   */
  readonly id = randomUUIDv7().replaceAll('-', '');
  readonly requestId = `req_${this.id}`;
  readonly startedAt = performance.now();
  /** Path of the matched route; `unknown` when there is none. */
  route = 'unknown';
  /** True when the rest of this request cannot be read. */
  isUnreadable = false;
  /** True when the client waits for `100 Continue` before it sends the body. */
  awaitsContinue = false;
  caller: Caller | undefined;
  /** Owner of a key that may not be used from `address`. Only logs and activity name it: the request counts as one without a key. */
  refusedCaller: Caller | undefined;
  /** IP address of the client, taken from trusted proxies if any, or `UNKNOWN_ADDRESS`. */
  address = UNKNOWN_ADDRESS;
  /** The error sent to the client, as a status or within the stream. */
  error: GatewayError | undefined;
  firstContentAt: number | undefined;
  /** Trace context that the client sent, if it is valid. */
  trace: TraceContext | undefined;
  /** Span of the request while traces are exported. */
  span: Span | undefined;
  /** The client asked for the cost in the usage. */
  includesCost = false;
  /** Set on generation requests. */
  inference: InferenceRecord | undefined;
  /** Work that may outlive the connection, such as the settlement for a disconnected client. */
  work: Promise<unknown> | undefined;
  /** Bytes of this request's body that count as in flight. */
  bodyBytes = 0;
  private readonly stopping = new AbortController();

  /** Aborts when the exchange must end. `stopError` returns the error for the client, if any. */
  get stopped(): AbortSignal {
    return this.stopping.signal;
  }

  /** Id of the client's trace, or of the request's own; also while traces are not exported. */
  get traceId(): string {
    return this.span?.traceId ?? (this.trace === undefined ? this.id : readTraceId(this.trace));
  }

  /** Stops the exchange with an error for the client, or without one for a disconnected client. Only the first call has an effect. */
  stop(error?: GatewayError): void {
    this.stopping.abort(error);
  }
}

/** Returns the caller of a guarded route. Throws `internal_error` on any other route. */
export function requireCaller({ caller }: HttpExchange): Caller {
  if (!caller) throw new GatewayError('internal_error', 'The route is not guarded.');
  return caller;
}

/** A request with the exchange that `HttpServer` attaches to it. */
export type GatewayRequest = IncomingMessage & { exchange: HttpExchange };

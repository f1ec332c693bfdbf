import type { Actor, Caller } from '#contracts/audit.js';
import type { Endpoint, EveryReplicaEndpoint, StreamEndpoint, Topic } from '#contracts/endpoint.js';
import type { TraceContext } from '#tracing/trace-context.js';
import type { EncodedJson } from './encoded-json.js';

export interface CallOptions {
  /** Default: the connection's `requestTimeoutMs`. For a stream: limits its start; absent, only the heartbeat limits it. */
  timeoutMs?: number;
  /** Rejects a request with a `MessagingError` of kind `closed`; cancels a stream. */
  signal?: AbortSignal;
  /** Sent in headers. */
  trace?: TraceContext | undefined;
  /** Most bytes of the reply of a program that is not trusted. A longer one is `broken`, and never fetched in pieces. Default: `payloadBytesMax`. */
  replyBytesMax?: number;
  /** The person or program behind an administrative change, sent in headers: the audit journal records it. */
  actor?: Actor;
}

/**
 * Calls, streams and events between services. `connectMessaging` returns the implementation; tests use a fake.
 *
 * A refusal of the other service arrives as `ServiceError`, a failure of the transport as `MessagingError`.
 */
export interface Messaging {
  request<Request extends object, Reply>(
    endpoint: Endpoint<Request, Reply>,
    payload: Request | EncodedJson,
    options?: CallOptions,
  ): Promise<Reply>;

  /** Asks every replica, and resolves with at least one answer. Leaves out replicas that fail, unless all fail. */
  requestEvery<Request extends object, Reply>(
    endpoint: EveryReplicaEndpoint<Request, Reply>,
    payload: Request,
    options?: CallOptions,
  ): Promise<Reply[]>;

  /** Sends the request at once. Payloads above the server's limit travel in pieces. */
  openStream<Request extends object, Event>(
    endpoint: StreamEndpoint<Request, Event>,
    payload: Request | EncodedJson,
    options?: CallOptions,
  ): EventStream<Event>;

  publish<Event extends object>(topic: Topic<Event>, event: Event): void;

  /**
   * Survives reconnects. Returns the function that unsubscribes. Of all subscribers with the same `queue`, each event reaches one; without
   * it, each event reaches every subscriber.
   */
  subscribe<Event extends object>(topic: Topic<Event>, handler: (event: Event) => void, options?: { queue?: string }): () => void;

  /** Called after every reconnect. Events published in between were missed, so caches must be refreshed. */
  onReconnect(handler: () => void): void;

  readonly connected: boolean;

  /** Waits for running calls and streams for up to `closeGraceMs`, then closes. */
  close(): Promise<void>;
}

/** Publishes events of which none may be lost. */
export interface ConfirmedPublisher {
  /**
   * Resolves when a stream of JetStream has stored the event, or, where none takes its subject, when the server has received it. Rejects
   * with a `MessagingError`; the event may have been published. `id` is sent as `Nats-Msg-Id`, so that a stream drops a repeated event.
   */
  publishConfirmed<Event extends object>(topic: Topic<Event>, event: Event, id: string): Promise<void>;

  readonly connected: boolean;
}

/**
 * The reading end of a framed stream, in batches of all events that are ready. Iterate it once; leaving the loop cancels. Iteration
 * throws `MessagingError` on a lost frame, a dead writer or a lost connection.
 */
export interface EventStream<Event> extends AsyncIterable<readonly Event[]> {
  /**
   * Asks the writer to stop. Iteration continues until the writer's last frame, or throws a `MessagingError` of kind `timeout` after the
   * cancel grace. Idempotent. With `detach` the work may continue without a reader: the writer's `signal` aborts with `DETACHED`.
   */
  cancel(options?: { detach?: boolean }): void;
}

/** Abort reason of a `CallContext.signal` whose caller cancelled and lets the work continue without a reader. */
export const DETACHED: unique symbol = Symbol('detached');

type MessagingErrorKind =
  /** No service listens on the subject, or there is no connection. The request was not processed. */
  | 'unavailable'
  /** No answer in time. The request may have been processed. */
  | 'timeout'
  /** The connection, the other end of a stream, or a frame was lost. The request may have been processed. */
  | 'broken'
  /** This service is shutting down, or the caller aborted. */
  | 'closed';

export class MessagingError extends Error {
  override readonly name = 'MessagingError';

  constructor(
    readonly kind: MessagingErrorKind,
    message: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }
}

/** Second argument of a handler. */
export interface CallContext {
  readonly subject: string;
  /** Trace context of the sender, if there is a valid one. */
  readonly trace: TraceContext | undefined;
  /** The sender, for the audit journal. Its `via` is known for recorded endpoints alone. Parsed on demand: most handlers do not use it. */
  readonly caller: Caller;
  /** Aborts when the caller cancelled or died, with reason `DETACHED` where the work may continue. Never aborts for plain requests. */
  readonly signal: AbortSignal;
  /**
   * Resolves to false only when the server reports that the caller's process is gone. `signal` cannot tell, because it also aborts when
   * this service's own connection was lost.
   */
  callerIsThere(): Promise<boolean>;
}

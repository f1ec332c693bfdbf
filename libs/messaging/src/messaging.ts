import type { Endpoint, EveryReplicaEndpoint, StreamEndpoint, Topic } from '#contracts/endpoint.js';
import type { EncodedJson } from './encoded-json.js';

export interface CallOptions {
  /** Default: the connection's `requestTimeoutMs`. Of a stream: how long it may take to start; without it, no limit but liveness. */
  timeoutMs?: number;
  /** Ends a request with a `MessagingError` of kind `closed`; cancels a stream. */
  signal?: AbortSignal;
  /** W3C trace context, carried in message headers. */
  traceparent?: string;
}

/**
 * What a service uses to talk to the others. The only implementation is `connectMessaging`; tests may pass a fake.
 *
 * Errors: what the other side refused arrives as its `ServiceError`; what the transport could not do as `MessagingError`.
 */
export interface Messaging {
  request<Request extends object, Reply>(endpoint: Endpoint<Request, Reply>, payload: Request, options?: CallOptions): Promise<Reply>;

  /**
   * Asks every replica at once, and resolves with the answers of those who have answered when no more come; never with none. A
   * replica that fails is left out, unless all do.
   */
  requestEvery<Request extends object, Reply>(
    endpoint: EveryReplicaEndpoint<Request, Reply>,
    payload: Request,
    options?: CallOptions,
  ): Promise<Reply[]>;

  /** Starts at once. Payloads above the server's limit travel in chunks. */
  openStream<Request extends object, Event>(
    endpoint: StreamEndpoint<Request, Event>,
    payload: Request | EncodedJson,
    options?: CallOptions,
  ): EventStream<Event>;

  publish<Event extends object>(topic: Topic<Event>, event: Event): void;

  /** Survives reconnects. Returns the function that ends it. */
  subscribe<Event extends object>(topic: Topic<Event>, handler: (event: Event) => void): () => void;

  /** Called after every reconnect: whatever was published meanwhile was missed, so caches must be refreshed. */
  onReconnect(handler: () => void): void;

  readonly connected: boolean;

  /** Finishes what is under way (bounded), then closes. */
  close(): Promise<void>;
}

/**
 * The reading end of a framed stream: batches of everything that was ready. Iterate it once. Leaving the loop early
 * cancels. Iteration throws `MessagingError` on a lost frame, a dead writer or a lost connection: silence never ends well.
 */
export interface EventStream<Event> extends AsyncIterable<readonly Event[]> {
  /**
   * Asks the writer to stop. Iteration goes on until the writer's last frame, which comes within the cancel grace or is
   * given up on with a `MessagingError` of kind `timeout`. Safe to call twice. `detach`: the writer's work may go on without a
   * reader, and the writer's `signal` fires with `DETACHED` as its reason.
   */
  cancel(options?: { detach?: boolean }): void;
}

/** Reason of a `CallContext.signal` whose caller cancelled and lets the work go on without a reader. */
export const DETACHED: unique symbol = Symbol('detached');

export type MessagingErrorKind =
  /** Nobody serves the subject, or there is no connection. Nothing was done. */
  | 'unavailable'
  /** No answer in time. It may have been done. */
  | 'timeout'
  /** The connection or the other end of a stream is gone, or something was lost on the way. It may have been done. */
  | 'broken'
  /** We are shutting down, or the caller aborted. */
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

/** What a handler of a controller gets as its second argument (`@Ctx()`). */
export interface CallContext {
  readonly subject: string;
  readonly traceparent: string | undefined;
  /** Aborts when the caller cancelled, died or gave up, with `DETACHED` as its reason where the work may go on. On plain requests it never fires. */
  readonly signal: AbortSignal;
  /**
   * Whether the caller's process still listens; false only when the server knows that it does not. `signal` cannot tell: it fires
   * too when our own connection was lost, and the caller lives on behind it.
   */
  callerIsThere(): Promise<boolean>;
}

import type { Endpoint, EveryReplicaEndpoint, StreamEndpoint, Topic } from '#contracts/endpoint.js';
import { within } from '#observability/grace.js';
import { EncodedJson } from './encoded-json.js';
import type { LocalEndpoint, LocalExchange, LocalRequest } from './local-exchange.js';
import { LocalStream } from './local-stream.js';
import { type CallOptions, type ConfirmedPublisher, type EventStream, type Messaging, MessagingError } from './messaging.js';
import type { NatsMessaging } from './nats-messaging.js';
import { decodeJson, TIMEOUT_DEFAULT_MS } from './wire.js';

interface LocalSettings {
  exchange: LocalExchange;
  /** The service that calls, and its NATS user. */
  service: string;
  /** Milliseconds that `close` waits for running calls and streams. Default 5,000. */
  closeGraceMs?: number;
}

const CLOSE_GRACE_MS = 5_000;

/**
 * `Messaging` of a service in a process with others. A request or stream to an endpoint of this process calls its handler; all else goes
 * over NATS: events, requests for every replica, and what no service of this process serves or serves no longer.
 */
export class LocalMessaging implements Messaging, ConfirmedPublisher {
  /** Ends each running call and stream. */
  private readonly running = new Set<(error: MessagingError) => void>();
  private whenIdle: (() => void) | undefined;
  private closing: Promise<void> | undefined;
  private isClosed = false;

  constructor(
    private readonly nats: NatsMessaging,
    private readonly settings: LocalSettings,
  ) {}

  get connected(): boolean {
    return this.nats.connected;
  }

  request<Request extends object, Reply>(
    endpoint: Endpoint<Request, Reply>,
    payload: Request | EncodedJson,
    options: CallOptions = {},
  ): Promise<Reply> {
    const local = this.settings.exchange.find(endpoint.subject);
    if (local === undefined) return this.nats.request(endpoint, payload, options);
    return this.call(local, endpoint, payload, options) as Promise<Reply>;
  }

  requestEvery<Request extends object, Reply>(
    endpoint: EveryReplicaEndpoint<Request, Reply>,
    payload: Request,
    options?: CallOptions,
  ): Promise<Reply[]> {
    return this.nats.requestEvery(endpoint, payload, options);
  }

  openStream<Request extends object, Event>(
    endpoint: StreamEndpoint<Request, Event>,
    payload: Request | EncodedJson,
    options: CallOptions = {},
  ): EventStream<Event> {
    const local = this.settings.exchange.find(endpoint.subject);
    if (local === undefined) return this.nats.openStream(endpoint, payload, options);
    const cancel = (): void => stream.cancel();
    const stream: LocalStream<Event> = new LocalStream(endpoint.subject, options.signal, () => this.ended(cancel));
    const refusal = this.refusal(options.signal);
    if (refusal !== undefined) {
      if (payload instanceof EncodedJson) payload.onSent();
      stream.fail(refusal);
      return stream;
    }
    const request = this.pack(endpoint, payload, options);
    this.running.add(cancel);
    local.open(request, stream as LocalStream<unknown>);
    return stream;
  }

  publish<Event extends object>(topic: Topic<Event>, event: Event): void {
    this.nats.publish(topic, event);
  }

  publishConfirmed<Event extends object>(topic: Topic<Event>, event: Event, id: string): Promise<void> {
    return this.nats.publishConfirmed(topic, event, id);
  }

  subscribe<Event extends object>(topic: Topic<Event>, handler: (event: Event) => void, options?: { queue?: string }): () => void {
    return this.nats.subscribe(topic, handler, options);
  }

  onReconnect(handler: () => void): void {
    this.nats.onReconnect(handler);
  }

  close(): Promise<void> {
    this.closing ??= this.shutDown();
    return this.closing;
  }

  private call(local: LocalEndpoint, endpoint: Endpoint<object, unknown>, payload: object, options: CallOptions): Promise<unknown> {
    const { signal, timeoutMs = TIMEOUT_DEFAULT_MS } = options;
    const refusal = this.refusal(signal);
    if (refusal !== undefined) return Promise.reject(refusal);
    return new Promise((resolve, reject) => {
      const fail = (error: unknown): void => {
        cleanUp();
        reject(error);
      };
      const abort = (): void => fail(new MessagingError('closed', `The call of ${endpoint.subject} was aborted.`));
      const timer = setTimeout(() => fail(new MessagingError('timeout', `No answer from ${endpoint.subject} in time.`)), timeoutMs);
      const cleanUp = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', abort);
        this.ended(fail);
      };
      this.running.add(fail);
      signal?.addEventListener('abort', abort);
      local.answer(this.pack(endpoint, payload, options)).then((reply) => {
        cleanUp();
        resolve(reply);
      }, fail);
    });
  }

  private ended(end: (error: MessagingError) => void): void {
    this.running.delete(end);
    if (this.running.size === 0) this.whenIdle?.();
  }

  private refusal(signal: AbortSignal | undefined): MessagingError | undefined {
    if (this.closing !== undefined) return new MessagingError('closed', 'This service is shutting down.');
    if (signal?.aborted) return new MessagingError('closed', 'The caller aborted.');
    return undefined;
  }

  private pack({ isRecorded }: { isRecorded: boolean }, payload: object | EncodedJson, { trace, actor }: CallOptions): LocalRequest {
    const sender = { trace, actor, via: isRecorded ? this.settings.service : null, isCallerThere: () => !this.isClosed };
    if (payload instanceof EncodedJson) {
      const { bytes } = payload;
      const parsed = decodeJson(bytes);
      payload.onSent();
      return { payload: parsed, bytes: bytes.length, sender };
    }
    const text = JSON.stringify(payload);
    return { payload: JSON.parse(text), bytes: text.length, sender };
  }

  private async shutDown(): Promise<void> {
    const idle = new Promise<void>((resolve) => (this.whenIdle = resolve));
    if (this.running.size > 0) await within(this.settings.closeGraceMs ?? CLOSE_GRACE_MS, idle);
    for (const end of this.running) end(new MessagingError('closed', 'This service is shutting down.'));
    if (this.running.size > 0) await idle; // a cancelled stream ends within its own grace
    this.isClosed = true;
    await this.nats.close();
  }
}

import { EventEmitter, once } from 'node:events';
import type { Endpoint, EveryReplicaEndpoint, StreamEndpoint, Topic } from '#contracts/endpoint.js';
import { EncodedJson } from '#messaging/encoded-json.js';
import type { CallOptions, EventStream, Messaging } from '#messaging/messaging.js';

type Answer = (payload: never, options: CallOptions) => unknown;

/** Messaging without a server. The test answers requests and serves streams. */
export class FakeMessaging implements Messaging {
  connected = true;
  /** The trace context that each stream was opened with. */
  readonly traces: CallOptions['trace'][] = [];
  /** The author that each stream was opened in the name of. */
  readonly actors: CallOptions['actor'][] = [];
  private readonly answers = new Map<string, Answer>();
  private readonly streams = new Map<string, (payload: never, stream: FakeEventStream<never>) => void>();
  private readonly subscribers = new EventEmitter();
  private readonly reconnects: (() => void)[] = [];

  /** Sets the handler of an endpoint. Its errors reach the caller. */
  answer<Request extends object, Reply>(
    endpoint: Endpoint<Request, Reply>,
    handler: (payload: Request, options: CallOptions) => Reply | Promise<Reply>,
  ): void {
    this.answers.set(endpoint.subject, handler as Answer);
  }

  /** Sets the handler of a stream endpoint, which writes to `stream`. */
  serve<Request extends object, Event>(
    endpoint: StreamEndpoint<Request, Event>,
    serve: (payload: Request, stream: FakeEventStream<Event>) => void,
  ): void {
    this.streams.set(endpoint.subject, serve as (payload: never, stream: FakeEventStream<never>) => void);
  }

  async request<Request extends object, Reply>(
    endpoint: Endpoint<Request, Reply>,
    payload: Request | EncodedJson,
    options: CallOptions = {},
  ): Promise<Reply> {
    const answer = this.answers.get(endpoint.subject);
    if (!answer) throw new Error(`the test does not answer ${endpoint.subject}`);
    return (await answer(received(payload) as never, options)) as Reply;
  }

  /** Behaves like a service with one replica. */
  async requestEvery<Request extends object, Reply>(endpoint: EveryReplicaEndpoint<Request, Reply>, payload: Request): Promise<Reply[]> {
    return [await this.request(endpoint, payload)];
  }

  openStream<Request extends object, Event>(
    endpoint: StreamEndpoint<Request, Event>,
    payload: Request | EncodedJson,
    { signal, trace, actor }: CallOptions = {},
  ): EventStream<Event> {
    this.traces.push(trace);
    this.actors.push(actor);
    const serve = this.streams.get(endpoint.subject);
    if (!serve) throw new Error(`the test does not serve ${endpoint.subject}`);
    const stream = new FakeEventStream<Event>();
    signal?.addEventListener('abort', () => stream.cancel());
    serve(received(payload) as never, stream as unknown as FakeEventStream<never>);
    return stream;
  }

  publish<Event extends object>(topic: Topic<Event>, event: Event): void {
    this.subscribers.emit(topic.subject, event);
  }

  subscribe<Event extends object>(topic: Topic<Event>, handler: (event: Event) => void): () => void {
    this.subscribers.on(topic.subject, handler);
    return () => this.subscribers.off(topic.subject, handler);
  }

  onReconnect(handler: () => void): void {
    this.reconnects.push(handler);
  }

  reconnect(): void {
    for (const handler of this.reconnects) handler();
  }

  async close(): Promise<void> {
    this.connected = false;
  }
}

/** The payload as the other side receives it. */
function received(payload: object): object {
  if (!(payload instanceof EncodedJson)) return payload;
  payload.onSent();
  return JSON.parse(payload.bytes.toString());
}

/** Both ends of a stream. */
export class FakeEventStream<Event> implements EventStream<Event> {
  private readonly queue: (readonly Event[] | 'end' | Error)[] = [];
  private readonly signals = new EventEmitter();
  private isCancelled = false;
  /** True when the reader cancelled with `detach`. */
  isDetached = false;
  /** Number of batches that the reader has taken. */
  taken = 0;

  write(...batch: Event[]): void {
    this.put(batch);
  }

  end(): void {
    this.put('end');
  }

  fail(error: Error): void {
    this.put(error);
  }

  /** Resolves when the reader has cancelled. */
  async cancelled(): Promise<void> {
    if (!this.isCancelled) await once(this.signals, 'cancel');
  }

  cancel({ detach = false }: { detach?: boolean } = {}): void {
    this.isCancelled = true;
    this.isDetached = detach;
    this.signals.emit('cancel');
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<readonly Event[]> {
    let ended = false;
    try {
      for (;;) {
        const next = this.queue.shift();
        if (next === undefined) {
          await once(this.signals, 'put');
          continue;
        }
        if (next === 'end' || next instanceof Error) ended = true;
        if (next === 'end') return;
        if (next instanceof Error) throw next;
        this.taken++;
        yield next;
      }
    } finally {
      if (!ended) this.cancel();
    }
  }

  private put(item: readonly Event[] | 'end' | Error): void {
    this.queue.push(item);
    this.signals.emit('put');
  }
}

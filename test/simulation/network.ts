import type { Endpoint, StreamEndpoint, Topic } from '#contracts/endpoint.js';
import { ServiceError } from '#contracts/service-error.js';
import { type CallContext, type CallOptions, type EventStream, type Messaging, MessagingError } from '#messaging/messaging.js';
import type { Random } from './random.js';
import { HEARTBEAT_MS, SimulatedStream } from './simulated-stream.js';

export interface NetworkFaults {
  /** Share of lost messages. NATS loses some when a connection or a server dies. */
  loss: number;
  /** Share of requests that arrive twice. */
  duplicates: number;
}

type Handler = (payload: never) => Promise<unknown>;
type StreamHandler = (payload: never, caller: Caller) => AsyncIterable<readonly unknown[]>;
type Caller = Pick<CallContext, 'signal' | 'callerIsThere'>;

const NEVER = new Promise<never>(() => undefined);
/** Time in which a reader notices a dead writer, as in libs/messaging. */
const READER_NOTICES_MS = 2_500;
const REQUEST_TIMEOUT_MS = 2_000;
const LISTENING_TIMEOUT_MS = 1_000;

/** NATS with processes that die. Messages in flight are lost when an end or the server dies. */
export class Network {
  isUp = true;
  private epoch = 0;
  private readonly processes = new Set<Process>();

  constructor(
    readonly random: Random,
    private readonly faults: NetworkFaults,
  ) {}

  add(process: Process): void {
    this.processes.add(process);
  }

  remove(process: Process): void {
    this.processes.delete(process);
  }

  goDown(): void {
    this.isUp = false;
    this.epoch++;
    for (const process of this.processes) process.connectionLost();
  }

  comeBack(): void {
    this.isUp = true;
    for (const process of [...this.processes]) process.connectionRestored();
  }

  /** A random server of the subject, as in a queue group; undefined without one. */
  findServer(subject: string): Process | undefined {
    return this.random.pick([...this.processes].filter((process) => process.serves(subject)));
  }

  /** Runs `arrive` after a hop, unless the message is lost or its receiver has died. */
  send(to: Process, arrive: () => void, { canBeLost = true, after = 0 } = {}): number {
    const { epoch } = this;
    const at = Math.max(performance.now() + this.hopMs(), after);
    if (!this.isUp || (canBeLost && this.random.chance(this.faults.loss))) return at;
    setTimeout(() => {
      if (epoch === this.epoch && to.isAlive) arrive();
    }, at - performance.now());
    return at;
  }

  get frameLoss(): number {
    return this.faults.loss;
  }

  /** Number of times that a request arrives. */
  copies(): number {
    return this.random.chance(this.faults.duplicates) ? 2 : 1;
  }

  private hopMs(): number {
    return this.random.chance(0.02) ? this.random.between(5, 200) : this.random.between(0.1, 2);
  }
}

/** A process on the network. A killed process has no further effects. */
export class Process implements Messaging {
  isAlive = true;
  private readonly handlers = new Map<string, Handler>();
  private readonly streamHandlers = new Map<string, StreamHandler>();
  private readonly waiting = new Set<(failure: MessagingError) => void>();
  private readonly reading = new Set<SimulatedStream<unknown>>();
  private readonly writing = new Set<SimulatedStream<unknown>>();
  private readonly reconnects: (() => void)[] = [];
  /** Observer of the requests of this process. */
  onRequest: (subject: string, payload: object) => void = () => undefined;

  constructor(
    readonly name: string,
    private readonly network: Network,
  ) {
    network.add(this);
  }

  get connected(): boolean {
    return this.network.isUp;
  }

  serve<Request extends object, Reply>(endpoint: Endpoint<Request, Reply>, handler: (payload: Request) => Promise<Reply>): void {
    this.handlers.set(endpoint.subject, handler as Handler);
  }

  serveStream<Request extends object, Event>(
    endpoint: StreamEndpoint<Request, Event>,
    handler: (payload: Request, caller: Caller) => AsyncIterable<readonly Event[]>,
  ): void {
    this.streamHandlers.set(endpoint.subject, handler as StreamHandler);
  }

  serves(subject: string): boolean {
    return this.handlers.has(subject) || this.streamHandlers.has(subject);
  }

  kill(): void {
    this.isAlive = false;
    this.network.remove(this);
    for (const stream of this.reading) setTimeout(() => stream.readerLost(), this.network.random.between(1, HEARTBEAT_MS));
    for (const stream of this.writing) setTimeout(() => stream.writerLost(), this.network.random.between(1, READER_NOTICES_MS));
  }

  connectionLost(): void {
    for (const fail of [...this.waiting]) fail(new MessagingError('broken', 'The connection to NATS was lost.'));
    for (const stream of this.reading) stream.writerLost();
    for (const stream of this.writing) stream.readerLost();
  }

  connectionRestored(): void {
    for (const handler of this.reconnects) handler();
  }

  requestEvery(): Promise<never> {
    throw new Error('the simulation has no requests to every replica');
  }

  async request<Request extends object, Reply>(
    endpoint: Endpoint<Request, Reply>,
    payload: Request,
    { timeoutMs = REQUEST_TIMEOUT_MS }: CallOptions = {},
  ): Promise<Reply> {
    if (!this.isAlive) return NEVER;
    if (!this.network.isUp) throw new MessagingError('unavailable', 'There is no connection to NATS.');
    this.onRequest(endpoint.subject, payload);
    if (!this.isAlive) return NEVER;
    return new Promise((resolve, reject) => {
      const end = (act: () => void): void => {
        clearTimeout(timer);
        this.waiting.delete(fail);
        if (this.isAlive) act();
      };
      const fail = (failure: MessagingError): void => end(() => reject(failure));
      const timer = setTimeout(() => fail(new MessagingError('timeout', `No answer to ${endpoint.subject} in time.`)), timeoutMs);
      this.waiting.add(fail);
      const server = this.network.findServer(endpoint.subject);
      if (server === undefined) {
        this.network.send(this, () => fail(new MessagingError('unavailable', `No service listens on ${endpoint.subject}.`)));
        return;
      }
      const answer = (): void => {
        const reply = (act: () => void): void => {
          if (server.isAlive) this.network.send(this, () => end(act));
        };
        server.handle(endpoint.subject, payload).then(
          (value) => reply(() => resolve(value as Reply)),
          (error) => reply(() => reject(error instanceof ServiceError ? error : new ServiceError('internal_error', String(error)))),
        );
      };
      for (let copies = this.network.copies(); copies > 0; copies--) this.network.send(server, answer);
    });
  }

  openStream<Request extends object, Event>(endpoint: StreamEndpoint<Request, Event>, payload: Request): EventStream<Event> {
    const server = this.network.isUp && this.isAlive ? this.network.findServer(endpoint.subject) : undefined;
    const stream = new SimulatedStream<Event>(this.network, this, server);
    if (!this.isAlive) return stream;
    const isGone = (): boolean => server?.isAlive !== true;
    if (server === undefined || isGone()) {
      stream.fail(new MessagingError('unavailable', `No service listens on ${endpoint.subject}.`));
      return stream;
    }
    const handler = server.streamHandlers.get(endpoint.subject) as StreamHandler;
    this.reading.add(stream as SimulatedStream<unknown>);
    server.writing.add(stream as SimulatedStream<unknown>);
    stream.onEnd = () => {
      this.reading.delete(stream as SimulatedStream<unknown>);
      server.writing.delete(stream as SimulatedStream<unknown>);
    };
    const caller = { signal: stream.signal, callerIsThere: () => server.sees(this) };
    this.network.send(server, () => stream.write(handler(payload as never, caller) as AsyncIterable<readonly Event[]>), {
      canBeLost: false,
    });
    return stream;
  }

  publish<Event extends object>(_topic: Topic<Event>, _event: Event): void {}

  subscribe<Event extends object>(_topic: Topic<Event>, _handler: (event: Event) => void): () => void {
    return () => undefined;
  }

  onReconnect(handler: () => void): void {
    this.reconnects.push(handler);
  }

  async close(): Promise<void> {
    this.kill();
  }

  /** True when the server reports the other process, and also without a connection. */
  private async sees(other: Process): Promise<boolean> {
    if (!this.network.isUp) return true;
    return new Promise((resolve) => {
      setTimeout(resolve, LISTENING_TIMEOUT_MS, true);
      this.network.send(this, () => resolve(other.isAlive));
    });
  }

  private handle(subject: string, payload: object): Promise<unknown> {
    return (this.handlers.get(subject) as Handler)(payload as never);
  }
}

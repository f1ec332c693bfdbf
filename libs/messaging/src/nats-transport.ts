import { type CustomTransportStrategy, type MessageHandler, Server } from '@nestjs/microservices';
import type { ServiceMsg } from 'nats';
import { isObservable, lastValueFrom } from 'rxjs';
import { COMMIT, VERSION } from '#config/version.js';
import type { Caller } from '#contracts/audit.js';
import { findPublisher, subjectFor } from '#contracts/endpoint.js';
import { ServiceError } from '#contracts/service-error.js';
import { within } from '#observability/grace.js';
import type { Logger } from '#observability/logger.js';
import { readTraceId, type TraceContext } from '#tracing/trace-context.js';
import { describeSchema, validatePayload } from '#validation/validate-payload.js';
import { isListening } from './call.js';
import { FairShares } from './fair-shares.js';
import { isInbox, parseOwner, sharesInbox } from './inbox-subject.js';
import { announcedBytes, offerPayload, payloadSource, withPayload } from './large-payload.js';
import type { Link } from './link.js';
import type { CallContext } from './messaging.js';
import type { NatsMessaging } from './nats-messaging.js';
import type { IncomingMessage } from './receiver.js';
import type { ServedExtras } from './serves.js';
import { EndpointStatistics, type ServedEndpoint, ServiceRegistration } from './service-registration.js';
import { StreamWriter } from './stream-writer.js';
import { decodeJson, encodeJson, errorHeaders, readCaller, readTimeout, readTrace, TIMEOUT_DEFAULT_MS, toWireError } from './wire.js';

interface NatsTransportOptions {
  messaging: NatsMessaging;
  /** The service's name in NATS service discovery, and its queue group. */
  name: string;
  description: string;
  logger: Logger;
  /** Token of this replica's subjects of `ReplicaEndpoint`s. Default: it has none. */
  replicaId?: string;
  /** Milliseconds that running work may take after `close` before streams are cancelled. Default 30,000. */
  shutdownGraceMs?: number;
  /** Requests and streams in progress; more are refused with `unavailable`. Default 20,000. */
  runningMax?: number;
  /** Returns the `ServiceError` for an error of the service's database and the like, or the error. Default: each becomes `internal_error`. */
  translateError?: (error: unknown) => unknown;
  /**
   * Bytes of the requests above 64 KiB in progress. Callers that `sharedBy` distinguishes get fair shares; more is refused with
   * `unavailable`. Default: no limit.
   */
  largeRequestBytesMax?: number;
}

const RUNNING_MAX = 20_000;
const SMALL_REQUEST_BYTES_MAX = 64 * 1024;
const SHUTDOWN_GRACE_MS = 30_000;
/** A cancelled stream ends within its own grace of a second. */
const CANCELLED_MS = 1_500;

/** A request or stream in progress. */
interface Run {
  startedAt: number;
  /** Caller whose share it counts in. */
  holder: string | undefined;
  /** Bytes in the share of large requests; 0 for a small request. */
  largeBytes: number;
}

/** A handler of a controller, with its endpoint. */
interface Route {
  extras: ServedExtras;
  subject: string;
  handler: MessageHandler;
  statistics: EndpointStatistics;
}

/**
 * Serves the controllers of a Nest application over NATS: JSON requests, JSON replies or framed streams, typed errors in headers. Pass it
 * to `createMicroservice` as `strategy`, and bind methods with `@Serves`.
 */
export class NatsTransport extends Server implements CustomTransportStrategy {
  private readonly link: Link;
  private readonly log: Logger;
  private registration: ServiceRegistration | undefined;
  private running = 0;
  private readonly shares = new FairShares();
  private readonly runningMax: number;
  private readonly largeShares = new FairShares();
  private readonly largeRequestBytesMax: number;
  private readonly writers = new Set<StreamWriter<unknown>>();
  private whenIdle: (() => void) | undefined;

  constructor(private readonly options: NatsTransportOptions) {
    super();
    this.link = options.messaging.link;
    this.log = options.logger;
    this.runningMax = options.runningMax ?? RUNNING_MAX;
    this.largeRequestBytesMax = options.largeRequestBytesMax ?? Number.POSITIVE_INFINITY;
  }

  listen(callback: (error?: unknown) => void): void {
    const { name, description } = this.options;
    const endpoints = [...this.messageHandlers].flatMap(([subject, handler]) => this.makeEndpoints(subject, handler));
    const about = { name, version: VERSION, description, metadata: { commit: COMMIT, node: process.version } };
    this.registration = new ServiceRegistration(this.link, about, endpoints, this.log);
    this.registration.open().then(() => callback(), callback);
  }

  /** Stops taking requests, waits for running work, then cancels streams. The connection stays open. */
  async close(): Promise<void> {
    await this.registration?.close();
    await within(this.options.shutdownGraceMs ?? SHUTDOWN_GRACE_MS, this.idle());
    if (this.running > 0) this.log.warn({ running: this.running }, 'shutdown grace expired; cancelling running streams');
    for (const writer of this.writers) writer.cancel();
    await within(CANCELLED_MS, this.idle());
    this.link.outbox.flush();
  }

  on(): void {
    throw new Error('NatsTransport has no events; see Messaging.onReconnect');
  }

  unwrap<T>(): T {
    return this.link.connection as T;
  }

  // ---- one endpoint ----

  /** Returns the endpoint, and its variants for this replica or for NATS users if it has them. */
  private makeEndpoints(subject: string, handler: MessageHandler): ServedEndpoint[] {
    const extras = handler.extras as ServedExtras | undefined;
    if (extras?.request === undefined) throw new Error(`${subject} is not bound with @Serves`);
    describeSchema(extras.request); // a decorator that is not supported fails the start
    const { replicaId } = this.options;
    const subjects = [subject];
    if (extras.perReplica && replicaId !== undefined) subjects.push(`${subject}.${replicaId}`);
    if (extras.isRecorded) subjects.push(subjectFor('*', { subject, isRecorded: true }));
    return subjects.map((one) => this.endpoint(one, handler, extras));
  }

  private endpoint(subject: string, handler: MessageHandler, extras: ServedExtras): ServedEndpoint {
    const route: Route = { extras, subject, handler, statistics: new EndpointStatistics() };
    const work = extras.kind === 'stream' ? this.stream(route) : this.answer(route);
    const receive = (message: ServiceMsg): void => {
      const { reply } = message;
      if (reply && !isInbox(reply)) this.log.warn({ subject, reply }, 'request dropped: reply subject is not an inbox');
      else if (reply && extras.isRecorded && parseOwner(reply) !== findPublisher(message.subject))
        this.log.warn({ subject: message.subject, reply }, "request dropped: reply subject is in another user's inbox");
      else work(message);
    };
    const { description, kind, everyReplica } = extras;
    return { subject, description, kind, everyReplica, statistics: route.statistics, receive };
  }

  private answer(route: Route): (message: ServiceMsg) => void {
    return (message) => {
      const run = this.begin(route);
      this.work(route, message, new PlainContext(this.link, route, message), run)
        .then((reply) => this.reply(message, encodeJson(reply)))
        .then(
          () => this.end(route, run, undefined),
          (error) => {
            this.replyError(message, error);
            this.logUnknown(route, message, error);
            this.end(route, run, error);
          },
        );
    };
  }

  private stream(route: Route): (message: ServiceMsg) => void {
    return (message) => {
      if (!message.reply) return;
      const run = this.begin(route);
      const writer: StreamWriter<unknown> = new StreamWriter(this.link, message.reply, (failure) => {
        this.writers.delete(writer);
        if (failure !== undefined) this.logUnknown(route, message, failure);
        this.end(route, run, failure);
      });
      this.writers.add(writer);
      const { reply: peer } = message;
      const context: CallContext = {
        subject: route.subject,
        trace: readTrace(message),
        get caller() {
          return findCaller(route, message);
        },
        signal: writer.signal,
        callerIsThere: () => isListening(this.link, peer),
      };
      writer.run(this.work(route, message, context, run) as Promise<AsyncIterable<readonly unknown[]>>);
    };
  }

  /** Parses, validates and handles one request. */
  private async work(route: Route, message: IncomingMessage, context: CallContext, run: Run): Promise<unknown> {
    if (this.running > this.runningMax) throw new ServiceError('unavailable', 'The service is overloaded.');
    const payload = message.headers === undefined ? parsePayload(message.data) : await this.readPayload(route, message);
    const { extras, handler } = route;
    this.takeShare(run, extras.sharedBy?.(payload), announcedBytes(message) || message.data.length);
    const valid = validatePayload(extras.request, payload);
    try {
      const result: unknown = await handler(valid, context as never);
      return isObservable(result) ? await lastValueFrom(result) : result;
    } catch (error) {
      throw this.options.translateError?.(error) ?? error;
    }
  }

  private async readPayload(route: Route, message: IncomingMessage): Promise<unknown> {
    const startedAt = performance.now();
    const timeoutMs = readTimeout(message) ?? (route.extras.kind === 'stream' ? Number.POSITIVE_INFINITY : TIMEOUT_DEFAULT_MS);
    const bytes = announcedBytes(message);
    const { payloadBytesMax } = this.link;
    if (bytes > payloadBytesMax) throw new ServiceError('request_too_large', `The request exceeds ${payloadBytesMax} bytes.`);
    if (bytes > 0 && !sharesInbox(payloadSource(message), message.reply ?? '')) {
      throw new ServiceError('invalid_request', 'A large payload must be offered in the inbox that the reply goes to.');
    }
    const payload = bytes === 0 ? parsePayload(message.data) : await withPayload(this.link, message, parsePayload);
    if (performance.now() - startedAt >= timeoutMs) throw new ServiceError('unavailable', 'The deadline passed before the work began.');
    return payload;
  }

  // ---- replies ----

  private reply(message: ServiceMsg, body: Buffer): void {
    if (!message.reply) return;
    if (body.length > this.link.payloadBytesMax) throw new Error(`a reply of ${body.length} bytes is too large`);
    if (body.length <= this.link.messageBytesMax) this.link.outbox.send(message.reply, body);
    else this.link.outbox.send(message.reply, Buffer.alloc(0), undefined, offerPayload(this.link, body).announcement);
  }

  private replyError(message: ServiceMsg, error: unknown): void {
    if (!message.reply) return;
    const wire = toWireError(error);
    this.link.outbox.send(message.reply, encodeJson(wire), undefined, errorHeaders(wire));
  }

  private logUnknown({ subject }: Route, message: IncomingMessage, error: unknown): void {
    if (error instanceof ServiceError) return;
    const trace = readTrace(message);
    this.log.error({ err: error, subject, traceId: trace && readTraceId(trace) }, 'request failed');
  }

  // ---- requests in progress ----

  private begin({ statistics }: Route): Run {
    this.running++;
    return { startedAt: statistics.start(), holder: undefined, largeBytes: 0 };
  }

  private end({ statistics }: Route, { startedAt, holder, largeBytes }: Run, failure: unknown): void {
    if (holder !== undefined) this.shares.add(holder, -1);
    if (holder !== undefined && largeBytes > 0) this.largeShares.add(holder, -largeBytes);
    statistics.end(startedAt, failure);
    if (--this.running === 0) this.whenIdle?.();
  }

  private takeShare(run: Run, holder: string | undefined, bytes: number): void {
    if (holder === undefined) return;
    if (!this.shares.admits(holder, this.runningMax))
      throw new ServiceError('unavailable', 'The caller has too many requests in progress.');
    if (bytes > SMALL_REQUEST_BYTES_MAX) this.takeLargeShare(run, holder, bytes);
    this.shares.add(holder, 1);
    run.holder = holder;
  }

  private takeLargeShare(run: Run, holder: string, bytes: number): void {
    const { largeShares, largeRequestBytesMax } = this;
    if (!largeShares.admits(holder, largeRequestBytesMax) || largeShares.inUse + bytes > largeRequestBytesMax)
      throw new ServiceError('unavailable', 'Too many large requests are in progress.');
    largeShares.add(holder, bytes);
    run.largeBytes = bytes;
  }

  private async idle(): Promise<void> {
    if (this.running > 0) await new Promise<void>((resolve) => (this.whenIdle = resolve));
  }
}

/** Returns the sender. The user is known where only this user may publish to the subject. */
function findCaller({ extras }: Route, message: IncomingMessage): Caller {
  return readCaller(message, extras.isRecorded ? findPublisher(message.subject) : null);
}

function parsePayload(data: Uint8Array): unknown {
  try {
    return decodeJson(data);
  } catch {
    throw new ServiceError('invalid_json', 'The request is not JSON.');
  }
}

/** Creates its signal only on demand: most handlers of plain requests do not use it. */
class PlainContext implements CallContext {
  private controller: AbortController | undefined;

  constructor(
    private readonly link: Link,
    private readonly route: Route,
    private readonly message: IncomingMessage,
  ) {}

  get subject(): string {
    return this.route.subject;
  }

  get trace(): TraceContext | undefined {
    return readTrace(this.message);
  }

  get caller(): Caller {
    return findCaller(this.route, this.message);
  }

  get signal(): AbortSignal {
    this.controller ??= new AbortController();
    return this.controller.signal;
  }

  async callerIsThere(): Promise<boolean> {
    return this.message.reply !== undefined && isListening(this.link, this.message.reply);
  }
}

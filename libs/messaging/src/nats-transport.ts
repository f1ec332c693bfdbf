import { type CustomTransportStrategy, type MessageHandler, Server } from '@nestjs/microservices';
import type { ServiceMsg } from 'nats';
import { COMMIT, VERSION } from '#config/version.js';
import type { Caller } from '#contracts/audit.js';
import { findPublisher, subjectFor } from '#contracts/endpoint.js';
import { type ReplicaStatus, replicaStatus } from '#contracts/replica-status.js';
import { ServiceError } from '#contracts/service-error.js';
import { within } from '#observability/grace.js';
import type { Logger } from '#observability/logger.js';
import { type TraceContext } from '#tracing/trace-context.js';
import { describeSchema } from '#validation/validate-payload.js';
import { Admission, type AdmissionLimits, type Run } from './admission.js';
import { isListening } from './call.js';
import { isInbox, parseOwner, sharesInbox } from './inbox-subject.js';
import { announcedBytes, offerPayload, payloadSource, withPayload } from './large-payload.js';
import type { Link } from './link.js';
import { localEndpoint } from './local-endpoint.js';
import type { LocalExchange } from './local-exchange.js';
import type { CallContext } from './messaging.js';
import type { NatsMessaging } from './nats-messaging.js';
import type { IncomingMessage } from './receiver.js';
import { ServedRoute } from './served-route.js';
import { type ServedExtras, servedExtras } from './serves.js';
import { type ServedEndpoint, ServiceRegistration } from './service-registration.js';
import { StreamWriter } from './stream-writer.js';
import { decodeJson, encodeJson, errorHeaders, readCaller, readTimeout, readTrace, TIMEOUT_DEFAULT_MS, toWireError } from './wire.js';

export interface NatsTransportOptions extends AdmissionLimits {
  messaging: NatsMessaging;
  /** The service's name in NATS service discovery, and its queue group. */
  name: string;
  description: string;
  logger: Logger;
  /** Calls of this process reach the endpoints through it. Default: only NATS does. */
  exchange?: LocalExchange | undefined;
  /** Returns what the replica says of itself. Default: it does not answer `replicaStatus`. */
  status?: () => Promise<ReplicaStatus>;
  /** Token of this replica's subjects of `ReplicaEndpoint`s. Default: it has none. */
  replicaId?: string;
  /** Milliseconds that running work may take after `close` before streams are cancelled. Default 30,000. */
  shutdownGraceMs?: number;
  /** Returns the `ServiceError` for an error of the service's database and the like, or the error. Default: each becomes `internal_error`. */
  translateError?: (error: unknown) => unknown;
}

const SHUTDOWN_GRACE_MS = 30_000;
/** A cancelled stream ends within its own grace of a second. */
const CANCELLED_MS = 1_500;

/**
 * Serves the controllers of a Nest application over NATS: JSON requests, JSON replies or framed streams, typed errors in headers. Pass it
 * to `createMicroservice` as `strategy`, and bind methods with `@Serves`.
 */
export class NatsTransport extends Server implements CustomTransportStrategy {
  private readonly link: Link;
  private readonly log: Logger;
  private registration: ServiceRegistration | undefined;
  private readonly admission: Admission;
  private readonly streams = new Set<{ stop(): void }>();
  private readonly routes: ServedRoute[] = [];
  private withdrawals: (() => void)[] = [];

  constructor(private readonly options: NatsTransportOptions) {
    super();
    this.link = options.messaging.link;
    this.log = options.logger;
    this.admission = new Admission(options);
  }

  listen(callback: (error?: unknown) => void): void {
    const { name, description, status } = this.options;
    if (status !== undefined) this.addHandler(replicaStatus.subject, status, false, servedExtras(replicaStatus));
    const endpoints = [...this.messageHandlers].flatMap(([subject, handler]) => this.makeEndpoints(subject, handler));
    const about = { name, version: VERSION, description, metadata: { commit: COMMIT, node: process.version } };
    this.registration = new ServiceRegistration(this.link, about, endpoints, this.log);
    this.registration.open().then(() => {
      this.offerLocally();
      callback();
    }, callback);
  }

  /** Stops taking requests, waits for running work, then cancels streams. The connection stays open. */
  async close(): Promise<void> {
    for (const withdraw of this.withdrawals) withdraw();
    await this.registration?.close();
    const { admission } = this;
    await within(this.options.shutdownGraceMs ?? SHUTDOWN_GRACE_MS, admission.idle());
    if (admission.running > 0) this.log.warn({ running: admission.running }, 'shutdown grace expired; cancelling running streams');
    for (const stream of this.streams) stream.stop();
    await within(CANCELLED_MS, admission.idle());
    this.link.outbox.flush();
  }

  on(): void {
    throw new Error('NatsTransport has no events; see Messaging.onReconnect');
  }

  unwrap<T>(): T {
    return this.link.connection as T;
  }

  /** Endpoints that every replica answers stay with NATS: another replica may know more. */
  private offerLocally(): void {
    const { exchange } = this.options;
    if (exchange === undefined) return;
    const offered = this.routes.filter(({ extras }) => !extras.everyReplica);
    this.withdrawals = offered.map((route) => exchange.offer(route.subject, localEndpoint(route, this.admission, this.streams)));
  }

  // ---- one endpoint ----

  /** Returns the endpoint, and its variants for this replica or for NATS users if it has them. */
  private makeEndpoints(subject: string, handler: MessageHandler): ServedEndpoint[] {
    const extras = handler.extras as ServedExtras | undefined;
    if (extras?.request === undefined) throw new Error(`${subject} is not bound with @Serves`);
    describeSchema(extras.request); // a decorator that is not supported fails the start
    const { replicaId } = this.options;
    if (extras.isForServices) return [this.endpoint(subjectFor('*', { subject, ...extras }), handler, extras)];
    const subjects = [subject];
    if (extras.perReplica && replicaId !== undefined) subjects.push(`${subject}.${replicaId}`);
    if (extras.isRecorded) subjects.push(subjectFor('*', { subject, isRecorded: true }));
    return subjects.map((one) => this.endpoint(one, handler, extras));
  }

  private endpoint(subject: string, handler: MessageHandler, extras: ServedExtras): ServedEndpoint {
    const { admission, options } = this;
    const route = new ServedRoute(subject, extras, handler, { ...options, admission });
    this.routes.push(route);
    const work = extras.kind === 'stream' ? this.stream(route) : this.answer(route);
    const receive = (message: ServiceMsg): void => {
      const { reply } = message;
      if (reply && !isInbox(reply)) this.log.warn({ subject, reply }, 'request dropped: reply subject is not an inbox');
      else if (reply && namesCaller(extras) && parseOwner(reply) !== findPublisher(message.subject))
        this.log.warn({ subject: message.subject, reply }, "request dropped: reply subject is in another user's inbox");
      else work(message);
    };
    const { description, kind, everyReplica } = extras;
    return { subject, description, kind, everyReplica, statistics: route.statistics, receive };
  }

  private answer(route: ServedRoute): (message: ServiceMsg) => void {
    return (message) => {
      const run = route.begin();
      const end = (failure?: unknown): void => route.end(run, failure, () => readTrace(message));
      this.work(route, message, new PlainContext(this.link, route, message), run)
        .then((reply) => this.reply(message, encodeJson(reply)))
        .then(
          () => end(),
          (error) => {
            this.replyError(message, error);
            end(error);
          },
        );
    };
  }

  private stream(route: ServedRoute): (message: ServiceMsg) => void {
    return (message) => {
      if (!message.reply) return;
      const run = route.begin();
      const writer: StreamWriter<unknown> = new StreamWriter(this.link, message.reply, (failure) => {
        this.streams.delete(writer);
        route.end(run, failure, () => readTrace(message));
      });
      this.streams.add(writer);
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
  private async work(route: ServedRoute, message: IncomingMessage, context: CallContext, run: Run): Promise<unknown> {
    this.admission.checkLoad();
    const payload = message.headers === undefined ? parsePayload(message.data) : await this.readPayload(route, message);
    return route.handle(run, payload, announcedBytes(message) || message.data.length, context);
  }

  private async readPayload(route: ServedRoute, message: IncomingMessage): Promise<unknown> {
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
}

/** Returns the sender. The user is known where only this user may publish to the subject. */
function findCaller({ extras }: ServedRoute, message: IncomingMessage): Caller {
  return readCaller(message, namesCaller(extras) ? findPublisher(message.subject) : null);
}

/** True when only one user may publish to the subject of a request. */
function namesCaller({ isRecorded, isForServices }: ServedExtras): boolean {
  return isRecorded || isForServices;
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
    private readonly route: ServedRoute,
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

import type { NatsConnection } from 'nats';
import type { Actor } from '#contracts/audit.js';
import { type Endpoint, type EveryReplicaEndpoint, type StreamEndpoint, subjectFor, type Topic } from '#contracts/endpoint.js';
import { within } from '#observability/grace.js';
import type { Logger } from '#observability/logger.js';
import { validatePayload } from '#validation/validate-payload.js';
import { call } from './call.js';
import { callEvery } from './call-every.js';
import { ConfirmedPublishing } from './confirmed-publishing.js';
import { EncodedJson } from './encoded-json.js';
import { announcedBytes, offerPayload, withPayload } from './large-payload.js';
import { Link, NO_CONNECTION } from './link.js';
import { type CallOptions, type ConfirmedPublisher, type EventStream, type Messaging, MessagingError } from './messaging.js';
import type { IncomingMessage } from './receiver.js';
import { StreamReader } from './stream-reader.js';
import type { PackedRequest } from './stream-request.js';
import { decodeJson, encodeJson, readError, requestHeaders, TIMEOUT_DEFAULT_MS } from './wire.js';

interface MessagingSettings {
  service: string;
  logger: Logger;
  actor: Actor | undefined;
  requestTimeoutMs: number;
  payloadBytesMax: number;
  closeGraceMs: number;
  resumeMs: number;
}

/** `Messaging` over NATS, one connection at a time. */
export class NatsMessaging implements Messaging, ConfirmedPublisher {
  /** Used by the transport, which answers on the same connection. */
  readonly link: Link;
  private readonly confirmed = new ConfirmedPublishing();
  private readonly reconnectHandlers: (() => void)[] = [];
  private closing: Promise<void> | undefined;

  constructor(
    connection: NatsConnection,
    private readonly settings: MessagingSettings,
  ) {
    this.link = new Link(connection, settings);
  }

  get connected(): boolean {
    return this.link.connected;
  }

  request<Request extends object, Reply>(
    endpoint: Endpoint<Request, Reply>,
    payload: Request | EncodedJson,
    options: CallOptions = {},
  ): Promise<Reply> {
    return this.ask(call<Reply>, endpoint, payload, options);
  }

  requestEvery<Request extends object, Reply>(
    endpoint: EveryReplicaEndpoint<Request, Reply>,
    payload: Request,
    options: CallOptions = {},
  ): Promise<Reply[]> {
    return this.ask(callEvery<Reply>, endpoint, payload, options);
  }

  openStream<Request extends object, Event>(
    endpoint: StreamEndpoint<Request, Event>,
    payload: Request | EncodedJson,
    options: CallOptions = {},
  ): EventStream<Event> {
    const reader = new StreamReader<Event>(this.link, subjectFor(this.settings.service, endpoint), options.signal);
    const refusal = this.refusal(options.signal);
    if (refusal !== undefined) {
      if (payload instanceof EncodedJson) payload.onSent();
      reader.fail(refusal);
      return reader;
    }
    reader.open(this.pack(payload, options.timeoutMs, options));
    return reader;
  }

  publish<Event extends object>(topic: Topic<Event>, event: Event): void {
    if (!this.link.isLost) this.link.outbox.send(topic.subject, encodeJson(event));
  }

  async publishConfirmed<Event extends object>(topic: Topic<Event>, event: Event, id: string): Promise<void> {
    if (this.isClosing || !this.connected) throw new MessagingError('unavailable', NO_CONNECTION);
    await this.confirmed.publish(this.link.connection, { subject: topic.subject, data: encodeJson(event), id });
  }

  subscribe<Event extends object>(topic: Topic<Event>, handler: (event: Event) => void, { queue }: { queue?: string } = {}): () => void {
    const handle = (message: IncomingMessage): void => {
      try {
        handler(validatePayload(topic.event, decodeJson(message.data)));
      } catch (error) {
        this.settings.logger.error({ err: error, subject: topic.subject }, 'event handler failed');
      }
    };
    return this.link.subscribe(topic.subject, handle, queue);
  }

  onReconnect(handler: () => void): void {
    this.reconnectHandlers.push(handler);
  }

  get isClosing(): boolean {
    return this.closing !== undefined;
  }

  close(): Promise<void> {
    this.closing ??= this.shutDown();
    return this.closing;
  }

  // ---- called by connectMessaging ----

  connectionLost(): void {
    this.link.lost();
  }

  connectionRestored(): void {
    this.link.restored();
    for (const handler of this.reconnectHandlers) {
      try {
        handler();
      } catch (error) {
        this.settings.logger.error({ err: error }, 'reconnect handler failed');
      }
    }
  }

  /** The server refused a message to `subject`. */
  publishRefused(subject: string): void {
    const refused = new MessagingError('unavailable', `Publishing to ${subject} is not permitted.`);
    this.link.inbox.failAll(({ peer }) => (peer === subject ? refused : undefined));
  }

  // ---- private ----

  private ask<Reply, Answer>(
    send: (...args: Parameters<typeof call<Reply>>) => Promise<Answer>,
    endpoint: Endpoint<object, unknown>,
    payload: object,
    options: CallOptions,
  ): Promise<Answer> {
    const { isRepeatable, isDirected } = endpoint;
    const refusal = this.refusal(options.signal);
    if (refusal !== undefined) return Promise.reject(refusal);
    const timeoutMs = options.timeoutMs ?? this.settings.requestTimeoutMs;
    const { body, headers, withdraw, onReleased } = this.pack(payload, timeoutMs === TIMEOUT_DEFAULT_MS ? undefined : timeoutMs, options);
    const release = withdraw ?? onReleased;
    const requestOptions = { timeoutMs, headers, signal: options.signal, isRepeatable, isDirected };
    const subject = subjectFor(this.settings.service, endpoint);
    const { replyBytesMax } = options;
    const read =
      replyBytesMax === undefined ? this.readReply<Reply> : (reply: IncomingMessage) => this.readShort<Reply>(reply, replyBytesMax);
    const answer = send(this.link, subject, body, requestOptions, read);
    return release === undefined ? answer : answer.finally(release);
  }

  private refusal(signal: AbortSignal | undefined): MessagingError | undefined {
    if (this.isClosing) return new MessagingError('closed', 'This service is shutting down.');
    if (signal?.aborted) return new MessagingError('closed', 'The caller aborted.');
    if (this.link.isLost) return new MessagingError('unavailable', NO_CONNECTION);
    return undefined;
  }

  private pack(payload: object, timeoutMs: number | undefined, options: CallOptions): PackedRequest {
    const encoded = payload instanceof EncodedJson ? payload : undefined;
    const body = encoded?.bytes ?? encodeJson(payload);
    const headers = requestHeaders(timeoutMs, options.trace, options.actor ?? this.settings.actor);
    if (body.length <= this.link.messageBytesMax - HEADER_BYTES_RESERVED) return { body, headers, onReleased: encoded?.onSent };
    const offer = offerPayload(this.link, body, headers, encoded?.onSent);
    return { body: Buffer.alloc(0), headers: offer.announcement, withdraw: offer.withdraw };
  }

  private readonly readReply = <Reply>(reply: IncomingMessage): Reply | Promise<Reply> => {
    if (reply.headers === undefined) return parseReply(reply.data) as Reply;
    const error = readError(reply);
    if (error !== undefined) throw error;
    const bytes = announcedBytes(reply);
    if (bytes === 0) return parseReply(reply.data) as Reply;
    if (bytes > this.link.payloadBytesMax) throw new MessagingError('broken', `The reply is too large: ${bytes} bytes.`);
    return withPayload(this.link, reply, (payload) => parseReply(payload) as Reply);
  };

  private readShort<Reply>(reply: IncomingMessage, bytesMax: number): Reply | Promise<Reply> {
    if (reply.data.length > bytesMax || announcedBytes(reply) > 0) throw new MessagingError('broken', 'The reply is too large.');
    return this.readReply<Reply>(reply);
  }

  private async shutDown(): Promise<void> {
    const { link } = this;
    link.ended.clear();
    await within(this.settings.closeGraceMs, link.inbox.emptied());
    link.close();
    const closed = new MessagingError('closed', 'This service is shutting down.');
    link.inbox.failAll(() => closed);
    link.outbox.flush();
    if (link.connected) await within(FLUSH_MS, link.connection.flush());
    await link.connection.close();
  }
}

/** `max_payload` includes the headers. */
const HEADER_BYTES_RESERVED = 4_096;
const FLUSH_MS = 1_000;

function parseReply(data: Uint8Array): unknown {
  try {
    return decodeJson(data);
  } catch (error) {
    throw new MessagingError('broken', 'The reply is not JSON.', { cause: error });
  }
}

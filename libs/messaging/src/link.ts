import { setTimeout as delay } from 'node:timers/promises';
import type { NatsConnection } from 'nats';
import { within } from '#observability/grace.js';
import type { Logger } from '#observability/logger.js';
import { ByteBudget } from './byte-budget.js';
import { EndedStreams } from './ended-streams.js';
import { STOP } from './frames.js';
import { Heartbeat, TICK_MS } from './heartbeat.js';
import { Inbox } from './inbox.js';
import { isInbox, newConnection, streamAddress } from './inbox-subject.js';
import { MessagingError } from './messaging.js';
import { Outbox } from './outbox.js';
import type { IncomingMessage } from './receiver.js';
import { subscribe } from './subscribe.js';

const MAX_PAYLOAD_DEFAULT = 1024 * 1024;
/** Bytes of the large payloads that are assembled at the same time; others wait. */
const ASSEMBLY_BYTES_MAX = 64 * 1024 * 1024;
/** Silence after which the other end of a stream counts as dead, unless `resumeMs` is longer. */
const SILENCE_MS = 5_000;
/** Milliseconds for the cluster to learn the subscriptions of a new connection. Until then messages still come over the old one. */
const OVERLAP_MS = 250;
const DRAIN_MS = 2_000;

export const NO_CONNECTION = 'There is no connection to NATS.';

interface LinkOptions {
  service: string;
  logger: Logger;
  /** The largest request or reply that is accepted, in pieces or not. */
  payloadBytesMax: number;
  /** Milliseconds for which calls and streams outlive a disruption. 0: they fail at once. */
  resumeMs: number;
}

/** Subscribes on a connection. Called for the connection in use, and for each that replaces it. */
type Attach = (connection: NatsConnection) => unknown;

/**
 * Shared by the calls and streams of one process: its connection, inbox, outbox, heartbeat and limits. The inbox keeps its address when the
 * connection is restored or replaced.
 *
 * A disruption is a lost connection, a change to another server, or a change of the servers in the cluster. Messages may be lost in it,
 * and peers may be absent for a moment.
 */
export class Link {
  readonly inbox: Inbox;
  readonly outbox: Outbox;
  readonly heartbeat = new Heartbeat();
  readonly assembly: ByteBudget;
  readonly ended: EndedStreams;
  readonly payloadBytesMax: number;
  readonly resumeMs: number;
  connected = true;
  /** True when the connection has been lost for longer than `resumeMs`. */
  isLost = false;
  /** Number of disruptions so far. */
  disruptions = 0;
  private disruptedUntil = 0;
  private giveUpTimer: NodeJS.Timeout | undefined;
  private readonly attached = new Set<Attach>();

  constructor(
    public connection: NatsConnection,
    { service, logger, payloadBytesMax, resumeMs }: LinkOptions,
  ) {
    const address = newConnection(service);
    this.payloadBytesMax = payloadBytesMax;
    this.resumeMs = resumeMs;
    this.outbox = new Outbox(this, address, logger);
    this.assembly = new ByteBudget(Math.max(ASSEMBLY_BYTES_MAX, payloadBytesMax));
    this.ended = new EndedStreams(this);
    this.inbox = new Inbox(address, (frame) => {
      if (frame.reply && isInbox(frame.reply)) this.outbox.sendStreamed(streamAddress(frame.reply), STOP);
    });
    this.subscribe(this.inbox.subject, this.inbox.receive);
  }

  /** Largest body of one message. */
  get messageBytesMax(): number {
    return this.connection.info?.max_payload ?? MAX_PAYLOAD_DEFAULT;
  }

  /** True for `resumeMs` after a disruption: a peer that does not listen may be reconnecting. */
  get isDisrupted(): boolean {
    return performance.now() < this.disruptedUntil;
  }

  /** Ticks of silence after which the other end of a stream counts as dead. */
  get silenceTicksMax(): number {
    return Math.max(SILENCE_MS, this.resumeMs) / TICK_MS;
  }

  /** Subscribes on this and every later connection. Returns the function that unsubscribes. */
  subscribe(subject: string, handle: (message: IncomingMessage) => void, queue?: string): () => void {
    let unsubscribe: () => void = () => undefined;
    const attach = (connection: NatsConnection): void => {
      unsubscribe = subscribe(connection, subject, handle, queue);
    };
    attach(this.connection);
    const detach = this.onReplaced(attach);
    return () => {
      detach();
      unsubscribe();
    };
  }

  /** Calls `attach` with each connection that replaces the one in use, before it is used. Returns the function that ends this. */
  onReplaced(attach: Attach): () => void {
    this.attached.add(attach);
    return () => this.attached.delete(attach);
  }

  // ---- disruptions ----

  lost(): void {
    if (!this.connected) return;
    this.connected = false;
    this.disruptions++;
    if (this.resumeMs > 0) {
      this.inbox.failAll(({ survivesLoss }) => (survivesLoss ? undefined : broken()));
      this.giveUpTimer = setTimeout(() => this.giveUp(), this.resumeMs);
    } else this.giveUp();
  }

  restored(): void {
    if (this.connected) return;
    clearTimeout(this.giveUpTimer);
    this.connected = true;
    this.isLost = false;
    this.outbox.flush();
    this.resume();
  }

  /** The servers of the cluster have changed. */
  clusterChanged(): void {
    if (!this.connected || this.resumeMs === 0) return;
    this.disruptions++;
    this.resume();
  }

  /**
   * Uses `next` instead of the connection to a server that drains. Both connections receive while the cluster learns the new one, so that
   * no message is lost; some arrive twice. Closes `next` when the connection in use is lost meanwhile: that one reconnects.
   */
  async moveTo(next: NatsConnection): Promise<void> {
    const previous = this.connection;
    try {
      await Promise.all([...this.attached].map((attach) => attach(next)));
      await next.flush();
    } catch {
      return next.close();
    }
    if (!this.connected || previous.isClosed()) return next.close();
    this.connection = next;
    this.clusterChanged();
    await delay(OVERLAP_MS);
    await within(DRAIN_MS, previous.drain());
    await previous.close();
  }

  /** Stops waiting for the connection. */
  close(): void {
    clearTimeout(this.giveUpTimer);
  }

  // ---- private ----

  private resume(): void {
    this.disruptedUntil = performance.now() + this.resumeMs;
    if (this.resumeMs > 0) this.inbox.resumeAll();
  }

  private giveUp(): void {
    this.isLost = true;
    this.outbox.clear();
    const unsent = new MessagingError('unavailable', NO_CONNECTION);
    // A request made after the loss was never sent.
    this.inbox.failAll(({ since }) => (since === this.disruptions ? unsent : broken()));
  }
}

function broken(): MessagingError {
  return new MessagingError('broken', 'The connection to NATS was lost.');
}

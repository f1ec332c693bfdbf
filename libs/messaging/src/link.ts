import type { NatsConnection } from 'nats';
import type { Logger } from '#observability/logger.js';
import { ByteBudget } from './byte-budget.js';
import { STOP } from './frames.js';
import { Heartbeat } from './heartbeat.js';
import { Inbox } from './inbox.js';
import { isInbox, newConnection, streamAddress } from './inbox-subject.js';
import { Outbox } from './outbox.js';

const MAX_PAYLOAD_DEFAULT = 1024 * 1024;
/** Bytes of the large payloads that are assembled at the same time; others wait. */
const ASSEMBLY_BYTES_MAX = 64 * 1024 * 1024;

/** Shared by the calls and streams of one connection: its inbox, outbox, heartbeat and limits. */
export class Link {
  readonly inbox: Inbox;
  readonly outbox: Outbox;
  readonly heartbeat = new Heartbeat();
  readonly assembly: ByteBudget;
  connected = true;

  /** `payloadBytesMax`: the largest request or reply that is accepted, in pieces or not. */
  constructor(
    readonly connection: NatsConnection,
    service: string,
    readonly logger: Logger,
    readonly payloadBytesMax: number,
  ) {
    const address = newConnection(service);
    this.outbox = new Outbox(connection, address, logger);
    this.assembly = new ByteBudget(Math.max(ASSEMBLY_BYTES_MAX, payloadBytesMax));
    this.inbox = new Inbox(connection, address, (frame) => {
      if (frame.reply && isInbox(frame.reply)) this.outbox.sendStreamed(streamAddress(frame.reply), STOP);
    });
  }

  /** Largest body of one message. */
  get messageBytesMax(): number {
    return this.connection.info?.max_payload ?? MAX_PAYLOAD_DEFAULT;
  }
}

import type { NatsConnection } from 'nats';
import type { Logger } from '#observability/logger.js';
import { ByteBudget } from './byte-budget.js';
import { STOP } from './frames.js';
import { Inbox, isInbox } from './inbox.js';
import { Outbox } from './outbox.js';
import { Pulse } from './pulse.js';

const MAX_PAYLOAD_DEFAULT = 1024 * 1024;
/** Large payloads being put together at the same time, in bytes; more have to wait. */
const ASSEMBLY_BYTES_MAX = 64 * 1024 * 1024;

/** What the ends of calls and streams share: the two boxes of one connection, its clock and its limits. */
export class Link {
  readonly inbox: Inbox;
  readonly outbox: Outbox;
  readonly pulse = new Pulse();
  readonly assembly: ByteBudget;
  connected = true;

  /** `payloadBytesMax`: the largest request or reply accepted, in chunks or not. */
  constructor(
    readonly connection: NatsConnection,
    service: string,
    readonly logger: Logger,
    readonly payloadBytesMax: number,
  ) {
    this.outbox = new Outbox(connection, logger);
    this.assembly = new ByteBudget(Math.max(ASSEMBLY_BYTES_MAX, payloadBytesMax));
    this.inbox = new Inbox(connection, service, (frame) => {
      if (frame.reply && isInbox(frame.reply)) this.outbox.send(frame.reply, STOP);
    });
  }

  /** The most one message may carry, body alone. */
  get messageBytesMax(): number {
    return this.connection.info?.max_payload ?? MAX_PAYLOAD_DEFAULT;
  }
}

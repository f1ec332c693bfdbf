import { setTimeout as delay } from 'node:timers/promises';
import { headers, type NatsConnection } from 'nats';
import { MessagingError } from './messaging.js';

const CONFIRM_TIMEOUT_MS = 5_000;
/** Time for which it is not asked again whether a stream takes a subject. */
const KNOWN_MS = 60_000;

/** Publishes messages and waits until the server has them. */
export class ConfirmedPublishing {
  private readonly known = new Map<string, { isStored: boolean; until: number }>();

  async publish(connection: NatsConnection, { subject, data, id }: { subject: string; data: Uint8Array; id: string }): Promise<void> {
    try {
      if (await this.isStored(connection, subject)) {
        await connection.jetstream().publish(subject, data, { msgID: id, timeout: CONFIRM_TIMEOUT_MS });
        return;
      }
      const named = headers();
      named.set('Nats-Msg-Id', id);
      connection.publish(subject, data, { headers: named });
      await inTime(connection.flush());
    } catch (error) {
      this.known.delete(subject); // the stream may have been removed
      throw error instanceof MessagingError ? error : new MessagingError('broken', 'The event was not confirmed.', { cause: error });
    }
  }

  /**
   * True when a stream of JetStream takes the subject. Any failure counts as no: without JetStream nobody answers, and a stream stores also
   * what is published without waiting for it.
   */
  private async isStored(connection: NatsConnection, subject: string): Promise<boolean> {
    const known = this.known.get(subject);
    if (known !== undefined && known.until > performance.now()) return known.isStored;
    const isStored = await connection
      .jetstreamManager({ checkAPI: false, timeout: CONFIRM_TIMEOUT_MS })
      .then((manager) => manager.streams.find(subject))
      .then(
        () => true,
        () => false,
      );
    this.known.set(subject, { isStored, until: performance.now() + KNOWN_MS });
    return isStored;
  }
}

async function inTime(confirmed: Promise<void>): Promise<void> {
  const cleanUp = new AbortController();
  const late = delay(CONFIRM_TIMEOUT_MS, 'late' as const, { signal: cleanUp.signal, ref: false }).catch(() => undefined);
  const first = await Promise.race([confirmed, late]).finally(() => cleanUp.abort());
  if (first === 'late') throw new MessagingError('timeout', 'The NATS server did not confirm the event.');
}

import type { Logger } from '#observability/logger.js';
import type { NatsMessaging } from './nats-messaging.js';

export interface ConnectOptions {
  url: string;
  user: string;
  password: string;
  /** Names the connection, the queue group and the inbox: `_INBOX.<service>`. */
  service: string;
  logger: Logger;
  /** Default 5,000. */
  requestTimeoutMs?: number;
}

/** Waits for the server as long as it takes, and says once a failure why it still waits. */
export function connectMessaging(_options: ConnectOptions): Promise<NatsMessaging> {
  throw new Error('not implemented yet');
}

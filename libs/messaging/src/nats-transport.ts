import { type CustomTransportStrategy, Server } from '@nestjs/microservices';
import type { Logger } from '#observability/logger.js';
import type { NatsMessaging } from './nats-messaging.js';

export interface NatsTransportOptions {
  messaging: NatsMessaging;
  /** The service's name in NATS service discovery, and its queue group. */
  name: string;
  /** Semantic version. */
  version: string;
  description: string;
  logger: Logger;
}

/** Serves the controllers of a Nest application over NATS. */
export class NatsTransport extends Server implements CustomTransportStrategy {
  constructor(readonly options: NatsTransportOptions) {
    super();
  }

  listen(_callback: (error?: unknown) => void): void {
    throw new Error('not implemented yet');
  }

  close(): void {}

  on(): void {}

  unwrap<T>(): T {
    return this.options.messaging as T;
  }
}

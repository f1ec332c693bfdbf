import type { NatsConnection, Subscription } from 'nats';
import type { IncomingMessage } from './receiver.js';

const RETRY_MS = 1_000;

/**
 * Subscribes for as long as the connection lives. The client drops a subscription for good when the server refuses it;
 * here it is tried again, so that a repaired configuration needs no restart. Returns the function that ends it.
 */
export function subscribe(connection: NatsConnection, subject: string, handle: (message: IncomingMessage) => void): () => void {
  let subscription: Subscription | undefined;
  let retry: NodeJS.Timeout | undefined;
  const start = (): void => {
    if (connection.isClosed()) return;
    subscription = connection.subscribe(subject, {
      callback: (error, message) => {
        if (error === null) handle(message);
        else retry = setTimeout(start, RETRY_MS).unref();
      },
    });
  };
  start();
  return () => {
    clearTimeout(retry);
    subscription?.unsubscribe();
  };
}

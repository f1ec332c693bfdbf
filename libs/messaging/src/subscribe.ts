import type { NatsConnection, Subscription } from 'nats';
import type { IncomingMessage } from './receiver.js';

const RETRY_MS = 1_000;

/**
 * Subscribes until the connection closes, and retries when the server refuses: the client alone would drop the subscription
 * permanently, and a fixed configuration would need a restart. Returns the function that unsubscribes.
 */
export function subscribe(
  connection: NatsConnection,
  subject: string,
  handle: (message: IncomingMessage) => void,
  queue?: string,
): () => void {
  let subscription: Subscription | undefined;
  let retry: NodeJS.Timeout | undefined;
  const start = (): void => {
    if (connection.isClosed()) return;
    subscription = connection.subscribe(subject, {
      queue,
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

import type { MessagingError } from './messaging.js';

/** A message as it arrives. `headers` is undefined without any: reading it is then free. */
export interface IncomingMessage {
  readonly subject: string;
  readonly data: Uint8Array;
  readonly reply?: string;
  readonly headers?: { readonly code: number; get(name: string): string };
}

/** One end of something under way: a call, a stream, a payload that is being fetched. */
export interface Receiver {
  /** Where this end publishes to: when the server refuses that, it fails. */
  readonly peer: string;
  /** Must not throw. */
  receive(message: IncomingMessage): void;
  /** The connection is lost, refused or closing: nothing more will arrive. */
  fail(error: MessagingError): void;
}

/** What the server answers when nobody listens where something was published. */
export function isNoResponders(message: IncomingMessage): boolean {
  return message.data.length === 0 && message.headers?.code === 503;
}

import type { StreamAddress } from './inbox-subject.js';
import type { MessagingError } from './messaging.js';

/** A received message. `headers` is undefined for a message without headers. */
export interface IncomingMessage {
  readonly subject: string;
  readonly data: Uint8Array;
  readonly reply?: string;
  readonly headers?: { readonly code: number; get(name: string): string };
}

/** A call that waits for its reply, and the ends of a stream. */
export type RunningKind = (typeof RUNNING_KINDS)[number];

export const RUNNING_KINDS = ['call', 'reader', 'writer'] as const;

/** One end of a running call, stream or payload transfer. */
export interface Receiver {
  /** Subject that this end publishes to. The end fails when the server refuses to publish there. */
  readonly peer: string;
  /** The other end of a stream, once it is known. */
  readonly otherEnd?: StreamAddress | undefined;
  /** True when it can go on after a lost connection. Any other fails at once. */
  readonly survivesLoss: boolean;
  /** `Link.disruptions` when its request was sent last. Set while the request may be sent again. */
  readonly since?: number | undefined;
  /** Its kind in the metrics while it runs. */
  readonly running?: RunningKind;
  /** True for a stream whose reader has to take frames before more can be sent. */
  readonly lacksCredit?: boolean;
  /** Must not throw. */
  receive(message: IncomingMessage): void;
  /** Called when the connection is lost, refused or closing, and nothing more will arrive. */
  fail(error: MessagingError): void;
  /** Called after a disruption, when the connection works: messages may have been lost. */
  resume(): void;
}

/** True for the answer of the server to a message that had no subscriber. */
export function isNoResponders(message: IncomingMessage): boolean {
  return message.data.length === 0 && message.headers?.code === 503;
}

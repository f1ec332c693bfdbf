import type { MsgHdrs } from 'nats';
import type { Link } from './link.js';
import { MessagingError } from './messaging.js';
import { type IncomingMessage, isNoResponders, type Receiver } from './receiver.js';

export interface RequestOptions {
  timeoutMs: number;
  headers?: MsgHdrs;
  signal?: AbortSignal;
}

/**
 * Publishes a request and waits for its reply. Cheaper than the client's own `request()`: no subscription, and no `Error` object unless
 * the call fails. `read` parses the reply, or throws the error in it.
 *
 * Rejects at once with `unavailable` when the subject has no listener, or when publishing to it is not permitted.
 */
export function call<Result>(
  link: Link,
  subject: string,
  body: Uint8Array,
  options: RequestOptions,
  read: (reply: IncomingMessage) => Result | Promise<Result>,
): Promise<Result> {
  return new Promise((resolve, reject) => new Call(link, subject, body, options, read, resolve, reject));
}

/** False only when the server reports that the subject has no listener; true without a connection. */
export async function isListening(link: Link, subject: string): Promise<boolean> {
  if (!link.connected) return true;
  try {
    await call(link, subject, NOTHING, { timeoutMs: LISTENING_TIMEOUT_MS }, () => undefined);
    return true;
  } catch (error) {
    return !(error instanceof MessagingError && error.kind === 'unavailable');
  }
}

const NOTHING = Buffer.alloc(0);
/** The server reports a missing listener at once. A listener does not have to answer. */
const LISTENING_TIMEOUT_MS = 1_000;

/** A request that waits in its inbox until it is answered, times out or is aborted. */
export abstract class PendingCall implements Receiver {
  private readonly inbox: string;
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly link: Link,
    readonly peer: string,
    body: Uint8Array,
    private readonly options: RequestOptions,
    protected readonly reject: (error: unknown) => void,
  ) {
    this.inbox = link.inbox.add('call', this);
    this.timer = setTimeout(onTimeout, Math.max(1, options.timeoutMs), this);
    options.signal?.addEventListener('abort', this.onAbort);
    link.outbox.send(peer, body, this.inbox, options.headers);
  }

  receive(reply: IncomingMessage): void {
    if (reply.headers !== undefined && isNoResponders(reply))
      this.fail(new MessagingError('unavailable', `No service listens on ${this.peer}.`));
    else this.answered(reply);
  }

  fail(error: MessagingError): void {
    this.cleanUp();
    this.reject(error);
  }

  timedOut(): void {
    this.fail(this.noAnswer());
  }

  protected noAnswer(): MessagingError {
    return new MessagingError('timeout', `No answer from ${this.peer} in time.`);
  }

  protected abstract answered(reply: IncomingMessage): void;

  protected cleanUp(): void {
    clearTimeout(this.timer);
    this.options.signal?.removeEventListener('abort', this.onAbort);
    this.link.inbox.remove(this.inbox);
  }

  private readonly onAbort = (): void => this.fail(new MessagingError('closed', `The call of ${this.peer} was aborted.`));
}

function onTimeout(pending: PendingCall): void {
  pending.timedOut();
}

class Call<Result> extends PendingCall {
  constructor(
    link: Link,
    subject: string,
    body: Uint8Array,
    options: RequestOptions,
    private readonly read: (reply: IncomingMessage) => Result | Promise<Result>,
    private readonly resolve: (result: Result | Promise<Result>) => void,
    reject: (error: unknown) => void,
  ) {
    super(link, subject, body, options, reject);
  }

  protected answered(reply: IncomingMessage): void {
    this.cleanUp();
    try {
      this.resolve(this.read(reply));
    } catch (error) {
      this.reject(error);
    }
  }
}

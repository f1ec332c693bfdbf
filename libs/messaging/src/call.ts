import type { MsgHdrs } from 'nats';
import type { Link } from './link.js';
import { MessagingError } from './messaging.js';
import { type IncomingMessage, isNoResponders, type Receiver } from './receiver.js';

export interface CallTerms {
  timeoutMs: number;
  headers?: MsgHdrs;
  signal?: AbortSignal;
}

/**
 * Publishes a request and waits for the one reply. Unlike the client's own `request()` it makes no `Error` unless
 * something fails, and no subscription. `read` turns the reply into the result, or throws what the reply says.
 *
 * Fails at once with `unavailable` when nobody listens, or publishing there is not permitted.
 */
export function call<Result>(
  link: Link,
  subject: string,
  body: Uint8Array,
  terms: CallTerms,
  read: (reply: IncomingMessage) => Result | Promise<Result>,
): Promise<Result> {
  return new Promise((resolve, reject) => new Call(link, subject, body, terms, read, resolve, reject));
}

/** False only when the server says that nobody listens there; without a connection nobody can know. */
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
/** Whoever listens need not answer: only that nobody does is answered at once. */
const LISTENING_TIMEOUT_MS = 1_000;

/** A request that waits for what is said to it: its inbox, its limit of time, its signal. What an answer is, its kinds say. */
export abstract class PendingCall implements Receiver {
  private readonly inbox: string;
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly link: Link,
    readonly peer: string,
    body: Uint8Array,
    private readonly terms: CallTerms,
    protected readonly reject: (error: unknown) => void,
  ) {
    this.inbox = link.inbox.add('call', this);
    this.timer = setTimeout(onTimeout, Math.max(1, terms.timeoutMs), this);
    terms.signal?.addEventListener('abort', this.onAbort);
    link.outbox.send(peer, body, this.inbox, terms.headers);
  }

  receive(reply: IncomingMessage): void {
    if (reply.headers !== undefined && isNoResponders(reply)) this.fail(new MessagingError('unavailable', `Nobody serves ${this.peer}.`));
    else this.answered(reply);
  }

  fail(error: MessagingError): void {
    this.settle();
    this.reject(error);
  }

  timedOut(): void {
    this.fail(this.noAnswer());
  }

  protected noAnswer(): MessagingError {
    return new MessagingError('timeout', `No answer from ${this.peer} in time.`);
  }

  protected abstract answered(reply: IncomingMessage): void;

  protected settle(): void {
    clearTimeout(this.timer);
    this.terms.signal?.removeEventListener('abort', this.onAbort);
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
    terms: CallTerms,
    private readonly read: (reply: IncomingMessage) => Result | Promise<Result>,
    private readonly resolve: (result: Result | Promise<Result>) => void,
    reject: (error: unknown) => void,
  ) {
    super(link, subject, body, terms, reject);
  }

  protected answered(reply: IncomingMessage): void {
    this.settle();
    try {
      this.resolve(this.read(reply));
    } catch (error) {
      this.reject(error);
    }
  }
}

import type { MsgHdrs } from 'nats';
import { TICK_MS } from './heartbeat.js';
import type { Link } from './link.js';
import { MessagingError } from './messaging.js';
import { type IncomingMessage, isNoResponders, type Receiver } from './receiver.js';

export interface RequestOptions {
  timeoutMs: number;
  headers?: MsgHdrs;
  signal?: AbortSignal;
  /** The request may be sent again, to any replica. */
  isRepeatable?: boolean;
  /** Another subject reaches other replicas: "no responders" is reported at once, also during a disruption. */
  isDirected?: boolean;
}

/**
 * Publishes a request and waits for its reply. Cheaper than the client's own `request()`: no subscription, and no `Error` object unless
 * the call fails. `read` parses the reply, or throws the error in it.
 *
 * Rejects at once with `unavailable` when the subject has no listener, or when publishing to it is not permitted. During a disruption it
 * waits for a listener, and sends a repeatable request again.
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
  readonly survivesLoss: boolean;
  /** `Link.disruptions` when it was sent last. */
  since = 0;
  private isRepeated = false;
  private readonly inbox: string;
  private readonly timer: NodeJS.Timeout;
  private retryTimer: NodeJS.Timeout | undefined;

  constructor(
    private readonly link: Link,
    readonly peer: string,
    private readonly body: Uint8Array,
    private readonly options: RequestOptions,
    protected readonly reject: (error: unknown) => void,
  ) {
    this.survivesLoss = options.isRepeatable ?? false;
    this.inbox = link.inbox.add('call', this);
    this.timer = setTimeout(onTimeout, Math.max(1, options.timeoutMs), this);
    options.signal?.addEventListener('abort', this.onAbort);
    this.send();
  }

  get running() {
    return 'call' as const;
  }

  receive(reply: IncomingMessage): void {
    if (reply.headers !== undefined && isNoResponders(reply)) this.notFound();
    else this.answered(reply);
  }

  fail(error: MessagingError): void {
    this.cleanUp();
    this.reject(error);
  }

  resume(): void {
    if (!this.survivesLoss || this.since === this.link.disruptions) return;
    this.isRepeated = true;
    this.send();
  }

  timedOut(): void {
    this.fail(this.noAnswer());
  }

  protected noAnswer(): MessagingError {
    return new MessagingError('timeout', `No answer from ${this.peer} in time.`);
  }

  protected abstract answered(reply: IncomingMessage): void;

  private send(): void {
    clearTimeout(this.retryTimer);
    this.since = this.link.disruptions;
    this.link.outbox.send(this.peer, this.body, this.inbox, this.options.headers);
  }

  private notFound(): void {
    if (this.link.isDisrupted && !this.options.isDirected) this.retryTimer = setTimeout(() => this.send(), TICK_MS);
    else this.fail(new MessagingError(this.isRepeated ? 'broken' : 'unavailable', `No service listens on ${this.peer}.`));
  }

  protected cleanUp(): void {
    clearTimeout(this.timer);
    clearTimeout(this.retryTimer);
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

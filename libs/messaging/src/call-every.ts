import type { CallTerms } from './call.js';
import type { Link } from './link.js';
import { MessagingError } from './messaging.js';
import { type IncomingMessage, isNoResponders, type Receiver } from './receiver.js';

/** Nobody knows how many there are: after so long without another answer there are no more. */
const QUIET_MS = 500;

/**
 * Publishes a request that every replica of a service answers, and resolves with all answers that came: until `QUIET_MS` after the
 * last, `timeoutMs` at most. Rejects with `unavailable` when nobody listens, `timeout` when nobody answers, and with the
 * first error when no answer is anything else.
 */
export function callEvery<Result>(
  link: Link,
  subject: string,
  body: Uint8Array,
  terms: CallTerms,
  read: (reply: IncomingMessage) => Result | Promise<Result>,
): Promise<Result[]> {
  return new Promise((resolve, reject) => new CallEvery(link, subject, body, terms, read, resolve, reject));
}

class CallEvery<Result> implements Receiver {
  private readonly inbox: string;
  private readonly results: Promise<Result>[] = [];
  private readonly limit: NodeJS.Timeout;
  private quiet: NodeJS.Timeout | undefined;

  constructor(
    private readonly link: Link,
    readonly peer: string,
    body: Uint8Array,
    private readonly terms: CallTerms,
    private readonly read: (reply: IncomingMessage) => Result | Promise<Result>,
    private readonly resolve: (results: Result[]) => void,
    private readonly reject: (error: unknown) => void,
  ) {
    this.inbox = link.inbox.add('call', this);
    this.limit = setTimeout(() => void this.end(), Math.max(1, terms.timeoutMs));
    terms.signal?.addEventListener('abort', this.onAbort);
    link.outbox.send(peer, body, this.inbox, terms.headers);
  }

  receive(reply: IncomingMessage): void {
    if (reply.headers !== undefined && isNoResponders(reply)) {
      this.fail(new MessagingError('unavailable', `Nobody serves ${this.peer}.`));
      return;
    }
    const result = new Promise<Result>((resolve) => resolve(this.read(reply)));
    result.catch(() => undefined); // looked at when all are there
    this.results.push(result);
    clearTimeout(this.quiet);
    this.quiet = setTimeout(() => void this.end(), QUIET_MS);
  }

  fail(error: MessagingError): void {
    this.settle();
    this.reject(error);
  }

  private readonly onAbort = (): void => this.fail(new MessagingError('closed', `The call of ${this.peer} was aborted.`));

  private async end(): Promise<void> {
    this.settle();
    const outcomes = await Promise.allSettled(this.results);
    const results = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (results.length > 0) this.resolve(results);
    else this.reject(failed?.reason ?? new MessagingError('timeout', `No answer from ${this.peer} in time.`));
  }

  private settle(): void {
    clearTimeout(this.limit);
    clearTimeout(this.quiet);
    this.terms.signal?.removeEventListener('abort', this.onAbort);
    this.link.inbox.remove(this.inbox);
  }
}

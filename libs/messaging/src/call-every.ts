import { type CallTerms, PendingCall } from './call.js';
import type { Link } from './link.js';
import type { IncomingMessage } from './receiver.js';

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

class CallEvery<Result> extends PendingCall {
  private readonly results: Promise<Result>[] = [];
  private quiet: NodeJS.Timeout | undefined;

  constructor(
    link: Link,
    subject: string,
    body: Uint8Array,
    terms: CallTerms,
    private readonly read: (reply: IncomingMessage) => Result | Promise<Result>,
    private readonly resolve: (results: Result[]) => void,
    reject: (error: unknown) => void,
  ) {
    super(link, subject, body, terms, reject);
  }

  override timedOut(): void {
    void this.end();
  }

  protected answered(reply: IncomingMessage): void {
    const result = new Promise<Result>((resolve) => resolve(this.read(reply)));
    result.catch(() => undefined); // looked at when all are there
    this.results.push(result);
    clearTimeout(this.quiet);
    this.quiet = setTimeout(() => void this.end(), QUIET_MS);
  }

  protected override settle(): void {
    clearTimeout(this.quiet);
    super.settle();
  }

  private async end(): Promise<void> {
    this.settle();
    const outcomes = await Promise.allSettled(this.results);
    const results = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (results.length > 0) this.resolve(results);
    else this.reject(failed?.reason ?? this.noAnswer());
  }
}

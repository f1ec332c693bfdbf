import { PendingCall, type RequestOptions } from './call.js';
import type { Link } from './link.js';
import type { IncomingMessage } from './receiver.js';

/** The number of replicas is unknown: after this long without another answer, all of them have answered. */
const LAST_ANSWER_MS = 500;

/**
 * Publishes a request that every replica of a service answers. Resolves with all answers, `LAST_ANSWER_MS` after the last one or after
 * `timeoutMs`. Rejects with `unavailable` without a listener, with `timeout` without an answer, and with the first error when every
 * answer is an error.
 */
export function callEvery<Result>(
  link: Link,
  subject: string,
  body: Uint8Array,
  options: RequestOptions,
  read: (reply: IncomingMessage) => Result | Promise<Result>,
): Promise<Result[]> {
  return new Promise((resolve, reject) => new CallEvery(link, subject, body, options, read, resolve, reject));
}

class CallEvery<Result> extends PendingCall {
  private readonly results: Promise<Result>[] = [];
  private idleTimer: NodeJS.Timeout | undefined;

  constructor(
    link: Link,
    subject: string,
    body: Uint8Array,
    options: RequestOptions,
    private readonly read: (reply: IncomingMessage) => Result | Promise<Result>,
    private readonly resolve: (results: Result[]) => void,
    reject: (error: unknown) => void,
  ) {
    super(link, subject, body, options, reject);
  }

  override timedOut(): void {
    void this.end();
  }

  protected answered(reply: IncomingMessage): void {
    const result = new Promise<Result>((resolve) => resolve(this.read(reply)));
    result.catch(() => undefined); // handled in `end`
    this.results.push(result);
    clearTimeout(this.idleTimer);
    this.idleTimer = setTimeout(() => void this.end(), LAST_ANSWER_MS);
  }

  protected override cleanUp(): void {
    clearTimeout(this.idleTimer);
    super.cleanUp();
  }

  private async end(): Promise<void> {
    this.cleanUp();
    const outcomes = await Promise.allSettled(this.results);
    const results = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (results.length > 0) this.resolve(results);
    else this.reject(failed?.reason ?? this.noAnswer());
  }
}

import { createHash } from 'node:crypto';
import { RateLimiter } from '#network/rate-limiter.js';
import { PanelError } from '../errors/panel-error.js';

/** Requests at once, in seconds of the rate: a page asks some fifteen. */
const BURST_SECONDS = 5;
const ENTRIES_MAX = 20_000;

/** Limits the requests of each person in this replica, with those of their tokens. */
export class CallerRates {
  private readonly credentials: RateLimiter;
  private readonly people: RateLimiter;

  constructor(perSecond: number, now?: () => number) {
    const limiter = (): RateLimiter => new RateLimiter(perSecond, perSecond * BURST_SECONDS, ENTRIES_MAX, now);
    this.credentials = limiter();
    this.people = limiter();
  }

  /** Call before a credential is looked up, so that the database has no work beyond the rate. @throws {PanelError} `rate_limit_exceeded` */
  countCredential(secret: string): void {
    refuseAfter(this.credentials.take(createHash('sha256').update(secret).digest('base64')));
  }

  /** @throws {PanelError} `rate_limit_exceeded` */
  countPerson(userId: string): void {
    refuseAfter(this.people.take(userId));
  }
}

function refuseAfter(waitMs: number): void {
  if (waitMs === 0) return;
  const retryAfterSeconds = Math.ceil(waitMs / 1_000);
  throw new PanelError('rate_limit_exceeded', `Too many requests. Try again in ${retryAfterSeconds} s.`, { retryAfterSeconds });
}

import { RateLimiter } from '#network/rate-limiter.js';
import { PanelError } from '../errors/panel-error.js';

/** Invites that one person mails at once, and then in an hour. A team is invited in one go. */
const PERSON_MAX = 30;
/** Invites of all people of an account: half are left while one person mails, and 40 of the 100 mails that the mailer takes at once. */
const ACCOUNT_MAX = 60;
const HOUR_SECONDS = 3_600;
const ENTRIES_MAX = 10_000;

/** Limits the invites that this replica mails: anyone who may invite chooses whose address gets a mail. */
export class InviteRates {
  private readonly people: RateLimiter;
  private readonly accounts: RateLimiter;

  constructor(now?: () => number) {
    const limiter = (max: number): RateLimiter => new RateLimiter(max / HOUR_SECONDS, max, ENTRIES_MAX, now);
    this.people = limiter(PERSON_MAX);
    this.accounts = limiter(ACCOUNT_MAX);
  }

  /** Counts an invite before it is made. `accountId`: null for the platform, whose admins count by person alone. @throws {PanelError} `rate_limit_exceeded` */
  count(userId: string, accountId: string | null): void {
    refuseAfter(this.people.take(userId), `You have mailed ${PERSON_MAX} invites, the most in an hour.`);
    if (accountId === null) return;
    refuseAfter(this.accounts.take(accountId), `People of this account have mailed ${ACCOUNT_MAX} invites, the most in an hour.`);
  }
}

function refuseAfter(waitMs: number, reason: string): void {
  if (waitMs === 0) return;
  const retryAfterSeconds = Math.ceil(waitMs / 1_000);
  throw new PanelError('rate_limit_exceeded', `${reason} Try again in ${retryAfterSeconds} s.`, { retryAfterSeconds });
}

import type { Logger } from '#observability/logger.js';
import type { InviteRates } from './invite-rates.js';
import type { Mail, Mailer } from './mailer.js';

/** Milliseconds until each further attempt. */
const RETRY_MS: readonly number[] = [30_000, 120_000, 600_000, 1_800_000];
/** Mails that wait for a further attempt. */
const WAITING_MAX = 1_000;

/**
 * Mails invites, and tries again while their links are open. The links are in the memory of the replica alone, since no secret is stored: a
 * restart ends the attempts, and the link that was shown still works.
 */
export class InviteMails {
  private readonly waiting = new Set<NodeJS.Timeout>();

  constructor(
    private readonly mailer: Pick<Mailer, 'isSetUp' | 'send'>,
    private readonly rates: Pick<InviteRates, 'count'>,
    private readonly isOpen: (inviteId: string) => Promise<boolean>,
    private readonly logger: Pick<Logger, 'warn'>,
    private readonly retryMs = RETRY_MS,
  ) {}

  /** Call before an invite is made. Counts it, unless no mail server is set up. @throws {PanelError} `rate_limit_exceeded` */
  count(userId: string, accountId: string | null): void {
    if (this.mailer.isSetUp) this.rates.count(userId, accountId);
  }

  /** Sends the mail of an invite in the background. Returns false without a mail server. */
  start(inviteId: string, mail: Mail): boolean {
    if (!this.mailer.isSetUp) return false;
    void this.attempt(inviteId, mail, 0);
    return true;
  }

  /** Called by Nest. */
  onApplicationShutdown(): void {
    for (const timer of this.waiting) clearTimeout(timer);
    this.waiting.clear();
  }

  private async attempt(inviteId: string, mail: Mail, failed: number): Promise<void> {
    // The database may be away: then the link counts as open.
    if (failed > 0 && !(await this.isOpen(inviteId).catch(() => true))) return;
    const { accepted, answer } = await this.mailer.send(mail);
    if (accepted) return;
    const retryMs = this.retryMs[failed];
    this.logger.warn({ inviteId, attempts: failed + 1, failure: answer, isLast: retryMs === undefined }, 'invite not mailed');
    if (retryMs === undefined || this.waiting.size >= WAITING_MAX) return;
    const timer = setTimeout(() => {
      this.waiting.delete(timer);
      void this.attempt(inviteId, mail, failed + 1);
    }, retryMs);
    this.waiting.add(timer.unref());
  }
}

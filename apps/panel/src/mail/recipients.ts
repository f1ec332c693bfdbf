import type { PrismaClient } from '#database/prisma-client.js';
import { PanelError } from '../errors/panel-error.js';
import { toAccess } from '../identity/grants.js';
import type { Mailer } from './mailer.js';

const MAILTO = 'mailto:';

/** The people who may get mail about an account: those who may see its notifications in the panel. */
export class Recipients {
  constructor(
    private readonly prisma: PrismaClient,
    private readonly mailer: Pick<Mailer, 'isSetUp'>,
  ) {}

  /** True for the address of a person who may see the notifications of the account; for null, of any account. */
  async has(email: string, accountId: string | null): Promise<boolean> {
    const person = await this.prisma.panelUser.findUnique({ where: { email }, include: { grants: true } });
    if (!person || person.disabledAt !== null) return false;
    const access = toAccess(person.grants);
    return accountId === null ? access.mayAnywhere('notifications.read') : access.may('notifications.read', accountId);
  }

  /**
   * Demands of the URL of a webhook that an e-mail address is one that mail may go to.
   * @throws {PanelError} `conflict` without a mail server, `invalid_request` for another's address.
   */
  async demand(url: string | undefined, accountId: string | null): Promise<void> {
    if (!url?.startsWith(MAILTO)) return;
    if (!this.mailer.isSetUp) throw new PanelError('conflict', 'No mail server is set up: the operator sets SMTP_URL.', { param: 'url' });
    if (!(await this.has(url.slice(MAILTO.length).toLowerCase(), accountId)))
      throw new PanelError('invalid_request', 'No person who may see the notifications of this account has this address.', {
        param: 'url',
      });
  }
}

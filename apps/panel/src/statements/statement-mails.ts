import type { Author } from '#database/audit-journal.js';
import type { Prisma, PrismaClient } from '#database/prisma-client.js';
import { journaled } from '../audit/journaled.js';
import { PanelError } from '../errors/panel-error.js';
import type { Mailer } from '../mail/mailer.js';
import type { StatementMailReply } from '../shapes/billing.js';
import { lastEndedMonth } from './statement-months.js';

/** A person and an account whose statements they get. */
export interface StatementMail {
  accountId: string;
  userId: string;
}

/** The people who get the statements of an account by mail. Each switches it on and off for themselves. */
export class StatementMails {
  constructor(
    private readonly prisma: PrismaClient,
    private readonly mailer: Pick<Mailer, 'isSetUp' | 'state'>,
  ) {}

  async show({ accountId, userId }: StatementMail): Promise<StatementMailReply> {
    const row = await this.prisma.panelStatementMail.findUnique({ where: { accountId_userId: { accountId, userId } } });
    return { isOn: row !== null, sentMonth: row?.sentMonth ?? null, mail: this.mailer.state };
  }

  /** The first statement is that of the month that runs. Repeating it changes nothing. @throws {PanelError} `conflict` without a mail server */
  async set(mail: StatementMail, isOn: boolean, author: Author): Promise<StatementMailReply> {
    if (isOn && !this.mailer.isSetUp) throw new PanelError('conflict', 'No mail server is set up: the operator sets SMTP_URL.');
    await journaled(this.prisma, author, async (tx, record) => {
      const { count } = isOn
        ? await tx.panelStatementMail.createMany({ data: { ...mail, sentMonth: lastEndedMonth(Date.now()) }, skipDuplicates: true })
        : await tx.panelStatementMail.deleteMany({ where: mail });
      if (count > 0) await record(describeSwitch(mail, isOn));
    });
    return this.show(mail);
  }
}

/** Ends the mails of a person who may no longer see the statements. */
export async function endStatementMail(prisma: PrismaClient, mail: StatementMail, reason: string, author: Author): Promise<void> {
  await journaled(prisma, author, async (tx: Prisma.TransactionClient, record) => {
    const { count } = await tx.panelStatementMail.deleteMany({ where: mail });
    if (count > 0) await record({ ...describeSwitch(mail, false), reason });
  });
}

function describeSwitch({ accountId, userId }: StatementMail, isOn: boolean) {
  const action = isOn ? 'statement-mail.create' : 'statement-mail.remove';
  return { action, accountId, target: `user/${userId}`, before: { mailed: !isOn }, after: { mailed: isOn } };
}

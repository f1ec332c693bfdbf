import { accountList } from '#contracts/billing/accounts.js';
import type { PrismaClient } from '#database/prisma-client.js';
import { parsePicoUsd, renderUsd } from '#money/pico-usd.js';
import type { Logger } from '#observability/logger.js';
import { PanelError } from '../errors/panel-error.js';
import { toAccess } from '../identity/grants.js';
import type { Mail, Mailer } from '../mail/mailer.js';
import type { AskServices } from '../services/services.js';
import type { Statement } from '../shapes/billing.js';
import { readStatement } from './statement.js';
import { endStatementMail, type StatementMail } from './statement-mails.js';
import { lastEndedMonth, nextMonth } from './statement-months.js';
import type { StatementPdfs } from './statement-pdfs.js';

/** Milliseconds between two looks for statements that are due. */
const ROUND_MS = 60_000;
/** Seconds for which a replica has a mail for itself. Longer than a statement, a file and a mail server take together. */
const TAKEN_SECONDS = 600;
/** Seconds until a mail that failed is tried again. */
const RETRY_SECONDS = 3_600;
/** Milliseconds after the end of a month in which its mail is tried: an address that is refused for a week stays refused. */
const GIVE_UP_MS = 7 * 86_400_000;

/** Author of what the panel does by itself. */
const PANEL = { caller: { actor: 'service/panel', actorName: null, via: null, ip: null, requestId: null } };

interface Dependencies {
  prisma: PrismaClient;
  services: AskServices;
  mailer: Pick<Mailer, 'isSetUp' | 'send'>;
  pdfs: Pick<StatementPdfs, 'render'>;
  logger: Pick<Logger, 'info' | 'warn' | 'error'>;
  panelUrl: string;
  now?: () => number;
}

type Due = StatementMail & { sentMonth: string };

/**
 * Mails the statements of months that have ended, each once. A replica takes a mail in the database before it sends it, and notes afterwards
 * that it was sent. One that dies between the two leaves it to another, whose mail has the same `Message-ID`, by which mail servers and
 * programs know that it is the same.
 */
export class SendStatements {
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> | undefined;
  private isStopping = false;

  constructor(private readonly needs: Dependencies) {}

  /** Called by Nest. */
  onApplicationBootstrap(): void {
    if (!this.needs.mailer.isSetUp) return;
    this.timer = setInterval(() => void this.round(), ROUND_MS).unref();
  }

  /** Called by Nest. Waits for the mail on its way. */
  async onApplicationShutdown(): Promise<void> {
    this.isStopping = true;
    clearInterval(this.timer);
    await this.running;
  }

  /** Sends what is due, one mail after another. Never throws: the next round tries again. */
  round(): Promise<void> {
    this.running ??= this.sendDue().finally(() => {
      this.running = undefined;
    });
    return this.running;
  }

  private async sendDue(): Promise<void> {
    try {
      for (let due = await this.take(); due && !this.isStopping; due = await this.take()) await this.sendOne(due);
    } catch (err) {
      this.needs.logger.warn({ err }, 'statements to mail not read: trying again');
    }
  }

  /** Takes the mail that has waited longest. */
  private async take(): Promise<Due | undefined> {
    if (this.isStopping) return undefined;
    const [due] = await this.needs.prisma.$queryRaw<Due[]>`
      UPDATE panel.statement_mail SET due_at = clock_timestamp() + ${TAKEN_SECONDS} * interval '1 second'
      WHERE (account_id, user_id) = (
        SELECT account_id, user_id FROM panel.statement_mail
        WHERE sent_month < ${lastEndedMonth(this.now())} AND due_at <= clock_timestamp() ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED
      ) RETURNING account_id AS "accountId", user_id AS "userId", sent_month AS "sentMonth"`;
    return due;
  }

  private async sendOne(due: Due): Promise<void> {
    const { prisma, logger } = this.needs;
    const { accountId, userId } = due;
    const month = nextMonth(due.sentMonth);
    const about = { accountId, userId, month };
    try {
      const email = await this.findReader(due);
      if (email === undefined) {
        await endStatementMail(prisma, { accountId, userId }, 'The person may no longer see the statements.', { ...PANEL, logger });
        return;
      }
      const { accepted, answer } = await this.needs.mailer.send(await this.makeMail(about, email));
      if (accepted) await this.finish(due, month);
      else await this.fail(due, month, answer);
    } catch (err) {
      logger.warn({ ...about, err }, 'statement not mailed: trying again');
      await this.retryLater(due);
    }
  }

  /** Returns the address of the person while they may see the money of the account. */
  private async findReader({ accountId, userId }: StatementMail): Promise<string | undefined> {
    const person = await this.needs.prisma.panelUser.findUnique({ where: { id: userId }, include: { grants: true } });
    if (!person || person.disabledAt !== null) return undefined;
    return toAccess(person.grants).may('money.read', accountId) ? person.email : undefined;
  }

  private async makeMail(of: StatementMail & { month: string }, to: string): Promise<Mail> {
    const { services, panelUrl, pdfs } = this.needs;
    const statement = await readStatement(services, of.accountId, of.month, new Date(this.now()));
    const [account] = (await services.ask(accountList, { accountId: of.accountId })).accounts;
    const name = account?.name ?? '';
    const pdf = await pdfs.render(statement, name).catch((error) => {
      if (error instanceof PanelError) return undefined; // it has too many lines
      throw error;
    });
    return {
      to,
      subject: `Statement of ${name}, ${of.month}`,
      text: renderText(statement, name, pdf !== undefined, `${panelUrl}/panel/a/${of.accountId}/money`),
      messageId: `<statement-${of.month}.${of.accountId}.${of.userId}@${new URL(panelUrl).hostname}>`,
      ...(pdf && { attachments: [{ filename: `statement-${of.month}.pdf`, contentType: 'application/pdf', content: Buffer.from(pdf) }] }),
    };
  }

  /** Notes that the month was sent. The next one may be due at once. */
  private async finish({ accountId, userId, sentMonth }: Due, month: string): Promise<void> {
    const where = { accountId, userId, sentMonth };
    await this.needs.prisma.panelStatementMail.updateMany({ where, data: { sentMonth: month, dueAt: new Date(0) } });
  }

  private async fail(due: Due, month: string, failure: string): Promise<void> {
    const { logger } = this.needs;
    const { accountId, userId } = due;
    const isLast = this.now() - Date.parse(`${nextMonth(month)}-01T00:00:00Z`) > GIVE_UP_MS;
    logger[isLast ? 'error' : 'warn']({ accountId, userId, month, failure, isLast }, 'statement not mailed');
    if (isLast) return this.finish(due, month);
    await this.retryLater(due);
  }

  private async retryLater({ accountId, userId, sentMonth }: Due): Promise<void> {
    await this.needs.prisma.$executeRaw`UPDATE panel.statement_mail SET due_at = clock_timestamp() + ${RETRY_SECONDS} * interval '1 second'
      WHERE account_id = ${accountId}::uuid AND user_id = ${userId}::uuid AND sent_month = ${sentMonth}`;
  }

  private now(): number {
    return this.needs.now?.() ?? Date.now();
  }
}

function renderText(
  { month, openingPicoUsd, closingPicoUsd, costPicoUsd }: Statement,
  name: string,
  hasFile: boolean,
  page: string,
): string {
  const usd = (picoUsd: string) => `${renderUsd(parsePicoUsd(picoUsd))} USD`;
  const where = hasFile ? 'is attached.' : 'has too many lines for a PDF. The page has it as CSV.';
  const lines = [
    `The statement of ${name} for ${month} ${where}`,
    '',
    `Opening balance: ${usd(openingPicoUsd)}`,
    `Cost of requests: ${usd(costPicoUsd)}`,
    `Closing balance: ${usd(closingPicoUsd)}`,
    '',
    `${page}?month=${month}`,
    '',
    'You get this because you switched it on. The page Money switches it off:',
    page,
  ];
  return `${lines.join('\n')}\n`;
}

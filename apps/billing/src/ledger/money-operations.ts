import { randomUUID } from 'node:crypto';
import type {
  AdjustmentCreateReply,
  AdjustmentCreateRequest,
  CreditNoteCreateReply,
  CreditNoteCreateRequest,
  PlanGrantReply,
  PlanGrantRequest,
  RefundCreateReply,
  RefundCreateRequest,
  TopupCreateReply,
  TopupCreateRequest,
} from '#contracts/billing/money.js';
import { ServiceError } from '#contracts/service-error.js';
import type { Author } from '#database/audit-journal.js';
import type { PgConnection } from '#database/pg-connection.js';
import { type PicoUsd, parseUsd } from '#money/pico-usd.js';
import { adjust } from './adjust.js';
import { creditNote } from './credit-note.js';
import { grantPlan } from './grant-plan.js';
import { refund } from './refund.js';
import { topUp } from './top-up.js';

/** Runs work on a database connection, and again if the connection breaks. The work must be idempotent. */
export type OnConnection = <Result>(work: (connection: PgConnection) => Promise<Result>) => Promise<Result>;

/** Changes balances other than by requests: top-ups, plan grants, refunds, adjustments and credit notes. Amounts arrive in dollars and are exact. */
export class MoneyOperations {
  constructor(private readonly onConnection: OnConnection) {}

  async topUp({ accountId, usd, paymentId }: TopupCreateRequest, author: Author): Promise<TopupCreateReply> {
    const amount = positive(usd);
    const { credited, topup } = await this.onConnection((connection) => topUp(connection, { accountId, amount, paymentId }, author));
    return { accountId, credited, topupBalancePicoUsd: String(topup) };
  }

  async grant({ accountId, usd, expiresAt, grantKey }: PlanGrantRequest, author: Author): Promise<PlanGrantReply> {
    const amount = positive(usd);
    const endsAt = new Date(expiresAt);
    if (!(endsAt.getTime() > Date.now())) throw new ServiceError('invalid_request', 'A plan must end in the future.', 'expiresAt');
    const grant = { grantId: randomUUID(), accountId, amount, endsAt, grantKey };
    const granted = await this.onConnection((connection) => grantPlan(connection, grant, author));
    return {
      accountId,
      grantId: granted.grantId,
      granted: granted.granted,
      planBalancePicoUsd: String(granted.plan),
      expiresAt: granted.endsAt.toISOString(),
    };
  }

  async refund({ accountId, refundId, paymentId, usd, atMost, reason }: RefundCreateRequest, author: Author): Promise<RefundCreateReply> {
    if (!usd && !paymentId) throw new ServiceError('invalid_request', 'Give a payment id, an amount, or both.', 'usd');
    const wanted = { accountId, refundId, paymentId, amount: usd ? positive(usd) : undefined, atMost, reason };
    const { refunded, amount, topup } = await this.onConnection((connection) => refund(connection, wanted, author));
    return { accountId, refunded, amountPicoUsd: String(amount), topupBalancePicoUsd: String(topup) };
  }

  async adjust({ accountId, adjustmentId, usd, reason }: AdjustmentCreateRequest, author: Author): Promise<AdjustmentCreateReply> {
    const kind = usd.startsWith('-') ? 'debit' : 'credit';
    const adjustment = { accountId, adjustmentId, kind, amount: positive(usd.replace('-', '')), reason } as const;
    const { adjusted, topup } = await this.onConnection((connection) => adjust(connection, adjustment, author));
    return { accountId, adjusted, topupBalancePicoUsd: String(topup) };
  }

  async creditNote(
    { requestId, accountId: of, noteId, usd, reason }: CreditNoteCreateRequest,
    author: Author,
  ): Promise<CreditNoteCreateReply> {
    const note = { requestId, accountId: of, noteId, amount: usd ? positive(usd) : undefined, reason };
    const { accountId, credited, amount, topup } = await this.onConnection((connection) => creditNote(connection, note, author));
    return { accountId, credited, amountPicoUsd: String(amount), topupBalancePicoUsd: String(topup) };
  }
}

function positive(usd: string): PicoUsd {
  const amount = parseUsd(usd);
  if (amount === 0n) throw new ServiceError('invalid_request', 'The amount must not be zero.', 'usd');
  return amount;
}

import { randomUUID } from 'node:crypto';
import type { AutoTopup, AutoTopupSetRequest } from '#contracts/payments.js';
import { ServiceError } from '#contracts/service-error.js';
import { type AuditedChange, type Author, audited } from '#database/audit-journal.js';
import { Prisma, type PrismaClient } from '#database/prisma-client.js';
import { parseUsd } from '#money/pico-usd.js';
import { centsToPico, usdToCents } from '../stripe/cents.js';
import type { OpenCharge } from './charge.js';

/** A stored card of Stripe. */
export interface Card {
  accountId: string;
  customer: string;
  paymentMethod: string;
  brand: string | null;
  last4: string | null;
  savedAt: Date;
}

/** An account that may need a top-up now. */
export interface DueRule {
  accountId: string;
  thresholdPicoUsd: bigint;
}

/** Rules, cards and charges of automatic top-ups, in the schema `payments`. Its triggers keep the cap. */
export class ChargeStore {
  constructor(private readonly prisma: PrismaClient) {}

  /** @throws {ServiceError} `invalid_request` for parts of a cent, a threshold of zero, and a cap below the amount. */
  async setRule({ accountId, thresholdUsd, amountUsd, monthlyCapUsd }: AutoTopupSetRequest, author: Author): Promise<AutoTopup> {
    const threshold = parseUsd(thresholdUsd);
    const [amount, cap] = [usdToCents(amountUsd, 'amountUsd'), usdToCents(monthlyCapUsd, 'monthlyCapUsd')];
    if (threshold === 0n) throw new ServiceError('invalid_request', 'The threshold must not be zero.', 'thresholdUsd');
    if (amount < STRIPE_CENTS_MIN) throw new ServiceError('invalid_request', 'Stripe takes at least $0.50.', 'amountUsd');
    if (cap < amount) throw new ServiceError('invalid_request', 'The cap must be at least the amount.', 'monthlyCapUsd');
    const rule = { threshold: String(threshold), amount: BigInt(amount), monthlyCap: BigInt(cap) };
    await audited(this.prisma, 'payments', author, async (tx) => {
      const before = await lockRule(tx, accountId);
      await tx.autoTopup.upsert({ where: { accountId }, create: { accountId, ...rule }, update: { ...rule, setAt: new Date() } });
      const change = { before: before && renderRule(before), after: renderRule(rule) };
      return { result: undefined, change: { ...describeChange('auto-topup.set', accountId), ...change } };
    });
    return this.show(accountId);
  }

  /** Ends the rule and forgets the card. A charge that Stripe was asked for stays. */
  async removeRule(accountId: string, author: Author): Promise<AutoTopup> {
    await audited(this.prisma, 'payments', author, async (tx) => {
      const before = await lockRule(tx, accountId);
      const { count } = await tx.card.deleteMany({ where: { accountId } });
      if (before === null && count === 0) throw new ServiceError('not_found', 'This account has no automatic top-up.', 'accountId');
      await tx.autoTopup.deleteMany({ where: { accountId } });
      const change = { before: before && renderRule(before), after: null };
      return { result: undefined, change: { ...describeChange('auto-topup.remove', accountId), ...change } };
    });
    return this.show(accountId);
  }

  async show(accountId: string): Promise<AutoTopup> {
    const [rule, card, month, paused] = await Promise.all([
      this.prisma.autoTopup.findUnique({ where: { accountId } }),
      this.prisma.card.findUnique({ where: { accountId } }),
      this.prisma.$queryRaw<{ cents: bigint }[]>`SELECT coalesce(sum(amount), 0)::bigint AS cents FROM payments.charge
        WHERE account_id = ${accountId}::uuid AND state <> 'released' AND month = to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM')`,
      this.prisma.$queryRaw<{ fault: string | null }[]>`SELECT c.fault FROM payments.auto_topup r
        LEFT JOIN payments.card d ON d.account_id = r.account_id, LATERAL (${LAST_CHARGE}) c
        WHERE r.account_id = ${accountId}::uuid AND c.state = 'released' AND c.created_at > greatest(r.set_at, d.saved_at)`,
    ]);
    return {
      accountId,
      rule: rule && renderRule(rule),
      card: card && { brand: card.brand, last4: card.last4, savedAt: card.savedAt.toISOString() },
      monthPicoUsd: String(centsToPico(Number(month[0]?.cents ?? 0n))),
      pausedBy: paused[0]?.fault ?? null,
    };
  }

  /** Stores a card, unless a newer one is stored. */
  async saveCard({ accountId, customer, paymentMethod, brand, last4, savedAt }: Card): Promise<void> {
    await this.prisma.$executeRaw`INSERT INTO payments.card (account_id, customer, payment_method, brand, last4, saved_at)
      VALUES (${accountId}::uuid, ${customer}, ${paymentMethod}, ${brand}, ${last4}, ${savedAt})
      ON CONFLICT (account_id) DO UPDATE SET customer = excluded.customer, payment_method = excluded.payment_method,
        brand = excluded.brand, last4 = excluded.last4, saved_at = excluded.saved_at WHERE card.saved_at <= excluded.saved_at`;
  }

  async findCustomer(accountId: string): Promise<string | undefined> {
    return (await this.prisma.card.findUnique({ where: { accountId } }))?.customer;
  }

  /** Rules with a card and without an open charge, whose last charge was not refused since the rule was set or the card stored. */
  async listDue(): Promise<DueRule[]> {
    const rows = await this.prisma.$queryRaw<{ accountId: string; threshold: Prisma.Decimal }[]>`
      SELECT r.account_id AS "accountId", r.threshold FROM payments.auto_topup r JOIN payments.card d ON d.account_id = r.account_id
        LEFT JOIN LATERAL (${LAST_CHARGE}) c ON true
      WHERE c.state IS NULL OR c.state = 'paid' OR (c.state = 'released' AND c.created_at < greatest(r.set_at, d.saved_at))
      ORDER BY r.account_id`;
    return rows.map(({ accountId, threshold }) => ({ accountId, thresholdPicoUsd: BigInt(threshold.toFixed(0)) }));
  }

  /** Takes the amount of the rule from the cap of this month. Undefined: the cap does not have it, or another charge is open. */
  async reserve(accountId: string): Promise<OpenCharge | undefined> {
    const id = randomUUID();
    // The trigger `charge_within_cap` inserts nothing beyond the cap.
    const made = await this.prisma.$executeRaw`INSERT INTO payments.charge (id, account_id, month, amount, customer, payment_method)
      SELECT ${id}::uuid, r.account_id, '', r.amount, d.customer, d.payment_method
      FROM payments.auto_topup r JOIN payments.card d ON d.account_id = r.account_id WHERE r.account_id = ${accountId}::uuid
      ON CONFLICT (account_id) WHERE state = 'open' DO NOTHING`;
    return made === 0 ? undefined : (await this.listOpen({ id }))[0];
  }

  async listOpen(where: { id?: string } = {}): Promise<OpenCharge[]> {
    const rows = await this.prisma.charge.findMany({ where: { state: 'open', ...where }, orderBy: { createdAt: 'asc' } });
    return rows.map(({ amount, ...row }) => ({ ...row, cents: Number(amount) }));
  }

  async notePayment(id: string, paymentId: string): Promise<void> {
    await this.prisma.charge.updateMany({ where: { id, state: 'open', paymentId: null }, data: { paymentId } });
  }

  /** Ends a charge whose top-up is booked. */
  async markPaid(id: string, accountId: string, paymentId: string): Promise<void> {
    await this.prisma.charge.updateMany({ where: { id, accountId, state: 'open' }, data: { state: 'paid', paymentId } });
  }

  /** Gives the amount back to the cap. Only for a charge that Stripe can never take. */
  async release(id: string, fault: string): Promise<void> {
    await this.prisma.charge.updateMany({ where: { id, state: 'open' }, data: { state: 'released', fault } });
  }
}

const STRIPE_CENTS_MIN = 50;

/** The newest charge of the rule `r`. */
const LAST_CHARGE = Prisma.sql`SELECT state, fault, created_at FROM payments.charge WHERE account_id = r.account_id
  ORDER BY created_at DESC LIMIT 1`;

type Rule = Prisma.AutoTopupGetPayload<object>;

/** Changes of a rule take turns. Null: the account has none. */
async function lockRule(tx: Prisma.TransactionClient, accountId: string): Promise<Rule | null> {
  await tx.$queryRaw`SELECT account_id FROM payments.auto_topup WHERE account_id = ${accountId}::uuid FOR UPDATE`;
  return tx.autoTopup.findUnique({ where: { accountId } });
}

function describeChange(action: string, accountId: string): Pick<AuditedChange, 'action' | 'accountId' | 'target' | 'reason'> {
  return { action, accountId, target: `account/${accountId}`, reason: null };
}

function renderRule({ threshold, amount, monthlyCap }: { threshold: unknown; amount: bigint; monthlyCap: bigint }) {
  return {
    thresholdPicoUsd: typeof threshold === 'string' ? threshold : (threshold as Prisma.Decimal).toFixed(0),
    amountPicoUsd: String(centsToPico(Number(amount))),
    monthlyCapPicoUsd: String(centsToPico(Number(monthlyCap))),
  };
}

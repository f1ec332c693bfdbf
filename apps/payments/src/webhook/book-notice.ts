import { isUUID } from 'class-validator';
import type { Actor } from '#contracts/audit.js';
import { refundCreate, topupCreate } from '#contracts/billing/money.js';
import type { Endpoint } from '#contracts/endpoint.js';
import { ServiceError } from '#contracts/service-error.js';
import type { Messaging } from '#messaging/messaging.js';
import type { Logger } from '#observability/logger.js';
import type { Alert, Outcome, PaymentsMetrics } from '../payments.metrics.js';
import { centsToPico, centsToUsd, isAmount } from '../stripe/cents.js';
import { type Notice, type Paid, type Returned, readIntent, type Undone } from './notice.js';

/** The author of what this service books, in billing's journal. */
const AUTHOR: Actor = { actor: 'service/payments' };
const ANSWER_MS = 5_000;
const CURRENCY = 'usd';

/** The part of Stripe's API that is read. */
export interface ReadPayments {
  retrieve(paymentId: string): Promise<Parameters<typeof readIntent>[0]>;
}

/** The automatic top-ups, of which a booked payment ends one. */
export interface EndCharges {
  markPaid(chargeId: string, accountId: string, paymentId: string): Promise<void>;
}

/**
 * Books what Stripe says of payments, each once: a payment is a top-up with the id of the payment, a refund or a dispute a refund with its
 * own id. Events may come twice and in any order.
 */
export class Booking {
  constructor(
    private readonly billing: Pick<Messaging, 'request'>,
    private readonly payments: ReadPayments,
    private readonly charges: EndCharges,
    private readonly metrics: Pick<PaymentsMetrics, 'alerts'>,
    private readonly logger: Logger,
  ) {}

  /** Resolves when it is committed. Throws when the same may succeed later. */
  async book(notice: Notice): Promise<Outcome> {
    switch (notice.kind) {
      case 'paid':
        return this.topUp(notice);
      case 'returned':
        return this.takeBack(notice);
      case 'undone':
        return this.reportUndone(notice);
      case 'ignored':
        return 'ignored';
    }
  }

  private async topUp({ paymentId, accountId, cents, currency, chargeId }: Paid): Promise<Outcome> {
    const fields = { payment: paymentId, account: accountId, cents, currency };
    if (currency !== CURRENCY) return this.refuse('currency', fields, 'a payment is not in dollars, and was not credited');
    if (!isAmount(cents)) return this.refuse('amount', fields, 'a payment has no amount, and was not credited');
    if (!isUUID(accountId, 'loose')) return this.refuse('account', fields, 'a payment is for no account, and was not credited');
    try {
      const { credited } = await this.change(topupCreate, { accountId, usd: centsToUsd(cents), paymentId });
      if (credited) this.logger.info(fields, 'payment credited');
      if (chargeId !== undefined && isUUID(chargeId, 'loose')) await this.charges.markPaid(chargeId, accountId, paymentId);
      return credited ? 'booked' : 'repeated';
    } catch (error) {
      if (isRefusal(error, 'not_found')) return this.refuse('account', fields, 'a payment is for an unknown account, and was not credited');
      if (isRefusal(error, 'conflict'))
        return this.refuse('conflict', fields, 'a payment was credited before with another account or amount');
      throw error;
    }
  }

  /** Takes what is left of the payment. The rest, which is used or held, is the operator's to ask for. */
  private async takeBack({ by, id, paymentId, cents, currency }: Returned): Promise<Outcome> {
    const payment = readIntent(await this.payments.retrieve(paymentId));
    if (payment.kind !== 'paid') return 'ignored';
    const fields = { [by]: id, payment: paymentId, account: payment.accountId, cents, currency };
    if (currency !== CURRENCY || !isAmount(cents)) return this.refuse('currency', fields, 'a payment went back in another currency');
    // Its own event may still come.
    if ((await this.topUp(payment)) === 'alerted') return 'alerted';
    const wanted = { accountId: payment.accountId, refundId: id, paymentId, usd: centsToUsd(cents), reason: `Stripe: ${by}`, atMost: true };
    try {
      const { refunded, amountPicoUsd } = await this.change(refundCreate, wanted);
      const uncovered = centsToPico(cents) - BigInt(amountPicoUsd);
      if (uncovered > 0n && refunded) this.alert('uncovered', { ...fields, uncoveredPicoUsd: String(uncovered) }, UNCOVERED);
      return refunded ? 'booked' : 'repeated';
    } catch (error) {
      if (isRefusal(error, 'conflict')) return this.refuse('conflict', fields, 'the id of a refund was used before, for another refund');
      if (!isRefusal(error, 'insufficient_balance')) throw error;
      return this.refuse('uncovered', { ...fields, uncoveredPicoUsd: String(centsToPico(cents)) }, UNCOVERED);
    }
  }

  private reportUndone({ by, id, paymentId, cents, currency }: Undone): Outcome {
    const fields = { [by]: id, payment: paymentId, cents, currency };
    if (by === 'refund') this.alert('refund_failed', fields, 'a refund failed: adjust the account if the refund was booked');
    else this.alert('dispute_won', fields, 'a dispute was won: adjust the account by what was taken');
    return 'alerted';
  }

  private change<Request extends object, Reply>(endpoint: Endpoint<Request, Reply>, payload: Request): Promise<Reply> {
    return this.billing.request(endpoint, payload, { timeoutMs: ANSWER_MS, actor: AUTHOR });
  }

  private refuse(reason: Alert, fields: object, message: string): Outcome {
    this.alert(reason, fields, message);
    return 'alerted';
  }

  private alert(reason: Alert, fields: object, message: string): void {
    this.metrics.alerts.inc({ reason });
    this.logger.error({ reason, ...fields }, message);
  }
}

const UNCOVERED = 'a payment went back, and less of it was left in the account';

function isRefusal(error: unknown, code: ServiceError['code']): boolean {
  return error instanceof ServiceError && error.code === code;
}

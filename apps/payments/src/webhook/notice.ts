import type { Stripe } from 'stripe';

/** Field of Stripe's metadata with the account that a payment is for. Payments without it are not Tollgate's. */
export const ACCOUNT_FIELD = 'tollgate_account';

/** Field with the id of an automatic top-up. */
export const CHARGE_FIELD = 'tollgate_charge';
/** Field of a checkout whose card is stored: `yes`. */
export const SAVE_CARD_FIELD = 'tollgate_save_card';

/** An amount that was paid for an account. */
export interface Paid {
  kind: 'paid';
  paymentId: string;
  accountId: string;
  cents: number | null;
  currency: string | null;
  /** Id of the automatic top-up that it is. */
  chargeId?: string | undefined;
}

/** An amount that went back to the payer, by a refund or a dispute. */
export interface Returned {
  kind: 'returned';
  by: 'refund' | 'dispute';
  /** Id of the refund or the dispute. */
  id: string;
  paymentId: string;
  cents: number;
  currency: string;
}

/** Money that came back to the operator: a person decides who gets it. */
export interface Undone extends Omit<Returned, 'kind'> {
  kind: 'undone';
}

export type Notice = Paid | Returned | Undone | { kind: 'ignored' };

/** Returns what a verified event says of the money of an account. Pure. */
export function readNotice(event: Stripe.Event): Notice {
  switch (event.type) {
    case 'payment_intent.succeeded':
      return readIntent(event.data.object);
    case 'checkout.session.completed':
    case 'checkout.session.async_payment_succeeded':
      return readSession(event.data.object);
    case 'refund.created':
    case 'refund.updated':
    case 'refund.failed':
    case 'charge.refund.updated':
      return readRefund(event.data.object as Stripe.Refund);
    case 'charge.dispute.funds_withdrawn':
      return readDispute('returned', event.data.object);
    case 'charge.dispute.funds_reinstated':
      return readDispute('undone', event.data.object);
    default:
      return { kind: 'ignored' };
  }
}

/** Reads a payment that Stripe was asked for, or an event of it. */
export function readIntent({ id, status, metadata, amount_received, currency }: Stripe.PaymentIntent): Notice {
  const accountId = metadata?.[ACCOUNT_FIELD];
  if (accountId === undefined || status !== 'succeeded') return { kind: 'ignored' };
  return { kind: 'paid', paymentId: id, accountId, cents: amount_received, currency, chargeId: metadata[CHARGE_FIELD] };
}

function readSession({ payment_status, payment_intent, metadata, amount_total, currency }: Stripe.Checkout.Session): Notice {
  const accountId = metadata?.[ACCOUNT_FIELD];
  const paymentId = readId(payment_intent);
  // Completed and unpaid: a way of payment that takes days. Without a payment: a discount of all.
  if (accountId === undefined || paymentId === undefined || payment_status !== 'paid') return { kind: 'ignored' };
  return { kind: 'paid', paymentId, accountId, cents: amount_total, currency };
}

function readRefund({ id, status, payment_intent, amount, currency }: Stripe.Refund): Notice {
  const paymentId = readId(payment_intent);
  if (paymentId === undefined) return { kind: 'ignored' };
  const refund = { by: 'refund', id, paymentId, cents: amount, currency } as const;
  if (status === 'succeeded') return { kind: 'returned', ...refund };
  return status === 'failed' ? { kind: 'undone', ...refund } : { kind: 'ignored' };
}

function readDispute(kind: 'returned' | 'undone', { id, payment_intent, amount, currency }: Stripe.Dispute): Notice {
  const paymentId = readId(payment_intent);
  return paymentId === undefined ? { kind: 'ignored' } : { kind, by: 'dispute', id, paymentId, cents: amount, currency };
}

/** Stripe writes a linked object as its id, or as itself where that was asked for. */
function readId(linked: string | { id: string } | null): string | undefined {
  return typeof linked === 'string' ? linked : linked?.id;
}

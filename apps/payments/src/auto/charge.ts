import { Stripe } from 'stripe';
import { ACCOUNT_FIELD, CHARGE_FIELD } from '../webhook/notice.js';

/** An automatic top-up that Stripe may still take. */
export interface OpenCharge {
  id: string;
  accountId: string;
  cents: number;
  customer: string;
  paymentMethod: string;
  paymentId: string | null;
  createdAt: Date;
}

/** Stripe's word on a charge. */
export type Answer =
  | { kind: 'payment'; payment: Stripe.PaymentIntent; fault?: string }
  /** It made no payment, and never will. */
  | { kind: 'none'; fault: string };

/** The calls of Stripe that a charge needs. */
export type ChargesAtStripe = Pick<Stripe['paymentIntents'], 'create' | 'retrieve' | 'cancel' | 'list'>;

/** Stripe remembers an idempotency key for a day. Later the same call could be a second payment, so it is not made any more. */
const KEY_MS = 20 * 3_600_000;
const CLOCKS_MS = 3_600_000;

/**
 * Asks Stripe for the payment of a charge. Repeating it asks for the same one, by the idempotency key.
 * @throws when it is not known what Stripe did.
 */
export async function askFor(stripe: ChargesAtStripe, charge: OpenCharge): Promise<Answer> {
  if (charge.paymentId !== null) return { kind: 'payment', payment: await stripe.retrieve(charge.paymentId) };
  if (Date.now() - charge.createdAt.getTime() > KEY_MS) return find(stripe, charge);
  const { id, accountId, cents, customer, paymentMethod } = charge;
  try {
    const payment = await stripe.create(
      {
        ...{ amount: cents, currency: 'usd', customer, payment_method: paymentMethod, off_session: true, confirm: true },
        metadata: { [ACCOUNT_FIELD]: accountId, [CHARGE_FIELD]: id },
      },
      { idempotencyKey: `auto-topup:${id}` },
    );
    return { kind: 'payment', payment };
  } catch (error) {
    return readRefusal(error);
  }
}

/** Looks among the payments of the customer, whose list is complete. */
async function find(stripe: ChargesAtStripe, { id, customer, createdAt }: OpenCharge): Promise<Answer> {
  const since = Math.floor((createdAt.getTime() - CLOCKS_MS) / 1000);
  for await (const payment of stripe.list({ customer, created: { gte: since }, limit: 100 }))
    if (payment.metadata[CHARGE_FIELD] === id) return { kind: 'payment', payment };
  return { kind: 'none', fault: 'never_asked' };
}

/** True while someone could still make the payment: it waits for a card, a person, or us. */
export function isUndecided({ status }: Stripe.PaymentIntent): boolean {
  return status !== 'succeeded' && status !== 'canceled' && status !== 'processing';
}

/** A declined card made a payment that someone could still pay; a faulty call made none. Anything else is unknown. */
function readRefusal(error: unknown): Answer {
  if (error instanceof Stripe.errors.StripeCardError) {
    const { payment_intent: payment, code = 'card_error' } = error;
    return payment ? { kind: 'payment', payment: payment as Stripe.PaymentIntent, fault: code } : { kind: 'none', fault: code };
  }
  if (error instanceof Stripe.errors.StripeInvalidRequestError && error.statusCode !== 409)
    return { kind: 'none', fault: error.code ?? 'invalid_request' };
  throw error;
}

/** Cancels a payment that no one has made, so that it can never be made, and returns what it is then. */
export async function giveUp(stripe: ChargesAtStripe, paymentId: string): Promise<Stripe.PaymentIntent> {
  try {
    return await stripe.cancel(paymentId);
  } catch (error) {
    // It was paid or cancelled meanwhile.
    if (error instanceof Stripe.errors.StripeInvalidRequestError) return stripe.retrieve(paymentId);
    throw error;
  }
}

import type { Stripe } from 'stripe';
import { ACCOUNT_FIELD, SAVE_CARD_FIELD } from '../webhook/notice.js';
import type { ChargeStore } from './charge-store.js';

/** Stores the card of a paid checkout that asked for it. */
export async function saveCard(
  event: Stripe.Event,
  stripe: Pick<Stripe, 'paymentIntents' | 'paymentMethods'>,
  store: Pick<ChargeStore, 'saveCard'>,
): Promise<void> {
  if (event.type !== 'checkout.session.completed') return;
  const { metadata, customer, payment_intent, payment_status, created } = event.data.object;
  const accountId = metadata?.[ACCOUNT_FIELD];
  if (accountId === undefined || metadata?.[SAVE_CARD_FIELD] !== 'yes' || payment_status !== 'paid') return;
  if (typeof customer !== 'string' || typeof payment_intent !== 'string') return;
  const { payment_method: paymentMethod } = await stripe.paymentIntents.retrieve(payment_intent);
  if (typeof paymentMethod !== 'string') return;
  const { card } = await stripe.paymentMethods.retrieve(paymentMethod);
  const shown = { brand: card?.brand ?? null, last4: card?.last4 ?? null };
  await store.saveCard({ accountId, customer, paymentMethod, ...shown, savedAt: new Date(created * 1000) });
}

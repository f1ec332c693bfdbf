import type { AutoTopup } from '../../../../src/shapes/payments.js';
import { exactUsd } from '../../format/numbers.js';

type Noted = Pick<AutoTopup, 'rule' | 'card' | 'monthPicoUsd' | 'pausedBy'>;

/** `Visa ending in 4242`. Stripe writes brands in lower case. */
export function describeCard({ brand, last4 }: NonNullable<AutoTopup['card']>): string {
  const name = brand === null ? 'Card' : brand.charAt(0).toUpperCase() + brand.slice(1);
  return last4 === null ? name : `${name} ending in ${last4}`;
}

/** The sum of the month beside its cap. Says when the cap has no room for another top-up. */
export function describeCap({ rule, monthPicoUsd }: Noted): string {
  if (rule === null) return 'no cap is set';
  const cap = BigInt(rule.monthlyCapPicoUsd);
  const left = cap - BigInt(monthPicoUsd);
  if (left < BigInt(rule.amountPicoUsd)) return `the cap of ${exactUsd(cap)} has no room for another`;
  return `of at most ${exactUsd(cap)} in a month (UTC)`;
}

/** The reason for which a rule tops nothing up, and its cure. Undefined: it works, or there is no rule. */
export function describeFault({ rule, card, pausedBy }: Noted): string | undefined {
  if (rule === null) return undefined;
  if (card === null) return 'No card is stored, so nothing is topped up. Add money and store the card.';
  if (pausedBy === null) return undefined;
  const reason = pausedBy.replaceAll('_', ' ');
  return `Stripe refused the card (${reason}), so nothing is topped up. Add money with another card and store it, or save the automatic top-up again to try once more.`;
}

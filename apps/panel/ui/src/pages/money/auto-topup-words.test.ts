import { describeCap, describeCard, describeFault } from './auto-topup-words.js';

const usd = (dollars: number): string => String(BigInt(dollars) * 10n ** 12n);
const rule = { thresholdPicoUsd: usd(5), amountPicoUsd: usd(10), monthlyCapPicoUsd: usd(35) };
const card = { brand: 'visa', last4: '4242', savedAt: '2027-01-01T00:00:00.000Z' };
const works = { rule, card, monthPicoUsd: usd(0), pausedBy: null };

test.each([
  [{ ...card }, 'Visa ending in 4242'],
  [{ ...card, brand: null }, 'Card ending in 4242'],
  [{ ...card, last4: null }, 'Visa'],
])('a card of %j is %s', (shown, words) => {
  expect(describeCard(shown)).toBe(words);
});

test.each([
  ['without a rule', { ...works, rule: null }, 'no cap is set'],
  ['with room for exactly one more', { ...works, monthPicoUsd: usd(25) }, 'of at most $35.00 in a month (UTC)'],
  ['with less room than one', { ...works, monthPicoUsd: usd(26) }, 'the cap of $35.00 has no room for another'],
  // The cap was lowered after the payments.
  ['beyond the cap', { ...works, monthPicoUsd: usd(40) }, 'the cap of $35.00 has no room for another'],
])('a month %s', (_, shown, words) => {
  expect(describeCap(shown)).toBe(words);
});

test.each([
  ['a rule that works', works, undefined],
  ['no rule', { ...works, rule: null, card: null }, undefined],
  ['a rule without a card', { ...works, card: null }, 'No card is stored, so nothing is topped up. Add money and store the card.'],
  [
    'a refused card',
    { ...works, pausedBy: 'card_declined' },
    'Stripe refused the card (card declined), so nothing is topped up. Add money with another card and store it, or save the automatic top-up again to try once more.',
  ],
])('%s has its cure', (_, shown, words) => {
  expect(describeFault(shown)).toBe(words);
});

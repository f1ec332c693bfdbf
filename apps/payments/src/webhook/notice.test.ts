import type { Stripe } from 'stripe';
import { readNotice } from './notice.js';

const ACCOUNT = '0190a6f0-0000-7000-8000-000000000001';
const metadata = { tollgate_account: ACCOUNT };
const payment = { id: 'pi_1', status: 'succeeded', currency: 'usd', amount: 2500, amount_received: 2500, metadata };
const session = { payment_status: 'paid', payment_intent: 'pi_1', amount_total: 2500, currency: 'usd', metadata };
const refund = { id: 're_1', status: 'succeeded', payment_intent: 'pi_1', amount: 900, currency: 'usd' };
const dispute = { id: 'du_1', payment_intent: { id: 'pi_1' }, amount: 2500, currency: 'usd' };

const PAID = { kind: 'paid', paymentId: 'pi_1', accountId: ACCOUNT, cents: 2500, currency: 'usd' };
const RETURNED = { kind: 'returned', by: 'refund', id: 're_1', paymentId: 'pi_1', cents: 900, currency: 'usd' };
const DISPUTED = { kind: 'returned', by: 'dispute', id: 'du_1', paymentId: 'pi_1', cents: 2500, currency: 'usd' };
const IGNORED = { kind: 'ignored' };

test.each([
  ['a payment', 'payment_intent.succeeded', payment, PAID],
  [
    'an automatic top-up',
    'payment_intent.succeeded',
    { ...payment, metadata: { ...metadata, tollgate_charge: 'c' } },
    { ...PAID, chargeId: 'c' },
  ],
  ['a paid checkout', 'checkout.session.completed', session, PAID],
  ['a checkout that was paid days later', 'checkout.session.async_payment_succeeded', session, PAID],
  ['a checkout that waits for its money', 'checkout.session.completed', { ...session, payment_status: 'unpaid' }, IGNORED],
  ['a checkout without a payment', 'checkout.session.completed', { ...session, payment_intent: null }, IGNORED],
  ['a payment of another program', 'payment_intent.succeeded', { ...payment, metadata: {} }, IGNORED],
  ['a payment that does not say that it succeeded', 'payment_intent.succeeded', { ...payment, status: 'canceled' }, IGNORED],
  ['a refund', 'refund.created', refund, RETURNED],
  ['a refund that waits', 'refund.created', { ...refund, status: 'pending' }, IGNORED],
  ['a refund that waited', 'refund.updated', refund, RETURNED],
  ['a refund that failed', 'refund.failed', { ...refund, status: 'failed' }, { ...RETURNED, kind: 'undone' }],
  ['a dispute', 'charge.dispute.funds_withdrawn', dispute, DISPUTED],
  ['a dispute that was won', 'charge.dispute.funds_reinstated', dispute, { ...DISPUTED, kind: 'undone' }],
  ['any other event', 'charge.succeeded', payment, IGNORED],
])('%s', (_, type, object, expected) => {
  expect(readNotice({ type, data: { object } } as unknown as Stripe.Event)).toEqual(expected);
});

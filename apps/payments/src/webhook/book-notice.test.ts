import { Registry } from 'prom-client';
import { createLogger } from '#observability/logger.js';
import { MemoryBilling } from '../../test/memory-billing.js';
import { createPaymentsMetrics } from '../payments.metrics.js';
import { Booking } from './book-notice.js';
import type { Paid, Returned } from './notice.js';

const ACCOUNT = '0190a6f0-0000-7000-8000-000000000001';
const DOLLAR = 1_000_000_000_000n;
const PAID: Paid = { kind: 'paid', paymentId: 'pi_1', accountId: ACCOUNT, cents: 2_500, currency: 'usd' };
const REFUND: Returned = { kind: 'returned', by: 'refund', id: 're_1', paymentId: 'pi_1', cents: 1_000, currency: 'usd' };

let billing: MemoryBilling;
let booking: Booking;
let metadata: Record<string, string>;
let ended: string[];
let metrics: ReturnType<typeof createPaymentsMetrics>;

beforeEach(() => {
  billing = new MemoryBilling(ACCOUNT);
  metrics = createPaymentsMetrics(new Registry());
  metadata = { tollgate_account: ACCOUNT };
  ended = [];
  const markPaid = async (...charge: string[]) => void ended.push(charge.join(' '));
  const retrieve = async (id: string) => ({ id, status: 'succeeded', amount_received: 2_500, currency: 'usd', metadata }) as never;
  booking = new Booking(billing, { retrieve }, { markPaid }, metrics, createLogger('test', 'silent'));
});

async function alerts(): Promise<Record<string, number>> {
  const { values } = await metrics.alerts.get();
  return Object.fromEntries(values.filter(({ value }) => value > 0).map(({ labels, value }) => [labels.reason, value]));
}

test('a payment is credited once', async () => {
  expect([await booking.book(PAID), await booking.book(PAID), billing.topup]).toEqual(['booked', 'repeated', 25n * DOLLAR]);
});

test('a payment that is an automatic top-up ends it, also when it was credited before', async () => {
  const chargeId = '0190a6f0-0000-7000-8000-00000000000c';
  await booking.book(PAID);
  await booking.book({ ...PAID, chargeId });
  expect(ended).toEqual([`${chargeId} ${ACCOUNT} pi_1`]);
});

test.each([
  ['another currency', { currency: 'eur' }, 'currency'],
  ['no amount', { cents: 0 }, 'amount'],
  ['an account that is no id', { accountId: 'acme' }, 'account'],
  ['an unknown account', { accountId: ACCOUNT.replace(/1$/, '2') }, 'account'],
])('a payment with %s is not credited, and raises an alert', async (_, change, reason) => {
  expect([await booking.book({ ...PAID, ...change }), billing.topup, await alerts()]).toEqual(['alerted', 0n, { [reason]: 1 }]);
});

test('a payment that was credited with another amount raises an alert', async () => {
  await booking.book(PAID);
  expect([await booking.book({ ...PAID, cents: 9 }), billing.topup, await alerts()]).toEqual(['alerted', 25n * DOLLAR, { conflict: 1 }]);
});

test('a refund takes its amount once', async () => {
  await booking.book(PAID);
  expect([await booking.book(REFUND), await booking.book(REFUND), billing.topup]).toEqual(['booked', 'repeated', 15n * DOLLAR]);
});

test('a refund that comes before its payment credits the payment first', async () => {
  expect([await booking.book(REFUND), await booking.book(PAID), billing.topup]).toEqual(['booked', 'repeated', 15n * DOLLAR]);
});

test('a refund of more than is left takes what is left, and raises one alert', async () => {
  await booking.book(PAID);
  billing.spend(20n * DOLLAR);
  expect([await booking.book(REFUND), await booking.book(REFUND)]).toEqual(['booked', 'repeated']);
  expect([billing.topup, await alerts()]).toEqual([0n, { uncovered: 1 }]);
});

test('a dispute of money that is spent takes nothing, and raises an alert', async () => {
  await booking.book(PAID);
  billing.spend(25n * DOLLAR);
  expect([await booking.book({ ...REFUND, by: 'dispute', id: 'du_1' }), await alerts()]).toEqual(['alerted', { uncovered: 1 }]);
});

test('a refund of a payment of another program is ignored', async () => {
  metadata = {};
  expect([await booking.book(REFUND), billing.done.size]).toEqual(['ignored', 0]);
});

test.each([
  ['refund', 'refund_failed'],
  ['dispute', 'dispute_won'],
] as const)('a %s that is undone moves no money, and raises an alert', async (by, reason) => {
  await booking.book(PAID);
  expect([await booking.book({ ...REFUND, by, kind: 'undone' }), billing.topup, await alerts()]).toEqual([
    'alerted',
    25n * DOLLAR,
    { [reason]: 1 },
  ]);
});

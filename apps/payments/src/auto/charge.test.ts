import { FakeStripe, STRIPE_KEY } from '#testing/fake-stripe.js';
import { createStripe } from '../stripe/stripe-client.js';
import { askFor, giveUp, isUndecided, type OpenCharge } from './charge.js';

const fake = await FakeStripe.start();
const stripe = createStripe(STRIPE_KEY, fake.url).paymentIntents;
afterAll(() => fake.stop());

let count = 0;
const newCharge = (rest: Partial<OpenCharge> = {}): OpenCharge => ({
  ...{ id: `charge-${++count}`, accountId: 'account', cents: 1_000, customer: `cus_${count}`, paymentMethod: 'pm_1', paymentId: null },
  ...{ createdAt: new Date(), ...rest },
});

beforeEach(() => {
  fake.fault = () => undefined;
  fake.onCharge = () => 'succeeded';
});

test('a charge that is asked for twice is one payment', async () => {
  const charge = newCharge();
  const [first, second] = [await askFor(stripe, charge), await askFor(stripe, charge)];
  expect(first).toMatchObject({ kind: 'payment', payment: { status: 'succeeded', amount: 1_000 } });
  expect(second).toEqual(first);
});

test('a charge whose answer was lost is one payment', async () => {
  const charge = newCharge();
  fake.fault = () => 'after';
  await expect(askFor(stripe, charge)).rejects.toMatchObject({ type: 'StripeConnectionError' });
  fake.fault = () => undefined;
  await askFor(stripe, charge);
  expect([...fake.payments.values()].filter(({ customer }) => customer === charge.customer)).toHaveLength(1);
});

test('a declined card leaves a payment, which is cancelled for good', async () => {
  fake.onCharge = () => 'declined';
  const answer = await askFor(stripe, newCharge());
  expect(answer).toMatchObject({ kind: 'payment', fault: 'card_declined', payment: { status: 'requires_payment_method' } });
  if (answer.kind === 'none') throw new Error('no payment');
  expect(isUndecided(answer.payment)).toBe(true);
  expect(await giveUp(stripe, answer.payment.id)).toMatchObject({ status: 'canceled' });
});

test('a payment that was made meanwhile is not cancelled', async () => {
  const answer = await askFor(stripe, newCharge());
  if (answer.kind === 'none') throw new Error('no payment');
  expect(await giveUp(stripe, answer.payment.id)).toMatchObject({ status: 'succeeded' });
});

describe('after the idempotency key has ended', () => {
  const createdAt = new Date(Date.now() - 21 * 3_600_000);

  test('the payment is found among those of the customer', async () => {
    const charge = newCharge();
    const asked = await askFor(stripe, charge);
    expect(await askFor(stripe, { ...charge, createdAt })).toEqual(asked);
  });

  test('without a payment nothing is asked for', async () => {
    const before = fake.payments.size;
    expect(await askFor(stripe, newCharge({ createdAt }))).toEqual({ kind: 'none', fault: 'never_asked' });
    expect(fake.payments.size).toBe(before);
  });
});

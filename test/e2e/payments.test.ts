import { accountCreate } from '#contracts/billing/accounts.js';
import { ledgerCheck } from '#contracts/billing/ledger.js';
import { balanceGet } from '#contracts/billing/money.js';
import { movementList } from '#contracts/billing/movements.js';
import { checkoutCreate } from '#contracts/payments.js';
import type { Messaging } from '#messaging/messaging.js';
import { ConnectProxy } from '#testing/connect-proxy.js';
import { disputeEvent, event, FakeStripe, refundEvent, STRIPE_KEY, STRIPE_SECRET, sendEvent } from '#testing/fake-stripe.js';
import { type RunningStack, startPrivateStack } from '#testing/stack.js';
import { connectAdministrator } from '#testing/tenant.js';

/** Payments by card, on real services and a Stripe of the test's own, which is reached by a forward proxy. */

const stripe = await FakeStripe.start();
const CREDENTIALS = 'ada:quiet-orange';
let proxy = await ConnectProxy.start({ credentials: CREDENTIALS });
let running: RunningStack;
let administrator: Messaging;
let webhook: string;

beforeAll(async () => {
  const settings = {
    ...{ STRIPE_SECRET_KEY: STRIPE_KEY, STRIPE_WEBHOOK_SECRET: STRIPE_SECRET, STRIPE_API_URL: stripe.url },
    HTTP_PROXY: proxy.url.replace('//', `//${CREDENTIALS}@`),
  };
  running = await startPrivateStack({ layout: 'all', services: ['billing', 'payments'], serviceEnv: { payments: settings } });
  administrator = await connectAdministrator(running);
  webhook = running.webhookUrl as string;
});
afterAll(async () => {
  await administrator?.close();
  await running?.stop();
  await proxy.stop();
  await stripe.stop();
});
afterEach(async () => expect(await administrator.request(ledgerCheck, {})).toMatchObject({ violations: [] }));

async function newAccount(): Promise<string> {
  return (await administrator.request(accountCreate, { name: 'pays by card' })).accountId;
}

async function readTopup(accountId: string): Promise<string> {
  return (await administrator.request(balanceGet, { accountId })).topup_balance_pico_usd;
}

test('a paid checkout is one top-up with the id of the payment, whichever of its events come and how often', async () => {
  const accountId = await newAccount();
  const { url, amountPicoUsd } = await administrator.request(checkoutCreate, { accountId, usd: '25.50' });
  expect({ url, amountPicoUsd }).toEqual({ url: 'https://checkout.stripe.com/c/pay/cs_test_a1', amountPicoUsd: '25500000000000' });
  const sessionId = [...stripe.sessions.keys()].at(-1) as string;
  const events = stripe.pay(sessionId);
  for (const payload of [...events, ...events.toReversed()]) expect(await sendEvent(webhook, payload)).toBe(200);
  const { movements } = await administrator.request(movementList, { accountId });
  expect(movements.map(({ kind, amountPicoUsd, reference }) => ({ kind, amountPicoUsd, reference }))).toEqual([
    { kind: 'topup', amountPicoUsd: '25500000000000', reference: stripe.sessions.get(sessionId)?.payment_intent },
  ]);
});

test('Stripe is called through the forward proxy alone', async () => {
  await administrator.request(checkoutCreate, { accountId: await newAccount(), usd: '5' });
  const calls = stripe.calls.length;
  const { port } = proxy;
  await proxy.stop();
  await expect(administrator.request(checkoutCreate, { accountId: await newAccount(), usd: '5' })).rejects.toMatchObject({
    code: 'unavailable',
  });
  expect([stripe.calls.length, new Set(proxy.asked)]).toEqual([calls, new Set([new URL(stripe.url).host])]);
  proxy = await ConnectProxy.start({ credentials: CREDENTIALS, port });
});

test('a refund before its payment, a dispute of the rest, and both again: nothing is left, and nothing is taken twice', async () => {
  const accountId = await newAccount();
  const payment = stripe.paid({ cents: 1_000, accountId });
  const events = [
    refundEvent(payment, { cents: 300 }),
    event('payment_intent.succeeded', payment),
    disputeEvent(payment, 'funds_withdrawn'),
  ];
  for (const payload of [...events, ...events]) expect(await sendEvent(webhook, payload)).toBe(200);
  const { movements } = await administrator.request(movementList, { accountId });
  expect(movements.map(({ kind, amountPicoUsd }) => [kind, amountPicoUsd])).toEqual([
    ['refund', '-7000000000000'],
    ['refund', '-3000000000000'],
    ['topup', '10000000000000'],
  ]);
});

test('a payment in another currency, a forged and an old event change nothing', async () => {
  const accountId = await newAccount();
  const euros = event('payment_intent.succeeded', stripe.paid({ cents: 1_000, accountId, currency: 'eur' }));
  const dollars = event('payment_intent.succeeded', stripe.paid({ cents: 1_000, accountId }));
  const statuses = [
    await sendEvent(webhook, euros),
    await sendEvent(webhook, dollars, { secret: 'whsec_forged' }),
    await sendEvent(webhook, dollars, { ageSeconds: 600 }),
  ];
  expect([statuses, await readTopup(accountId)]).toEqual([[200, 400, 400], '0']);
});

test('an event is answered with 503 while Stripe is away, and its payment is booked by another', async () => {
  const accountId = await newAccount();
  const payment = stripe.paid({ cents: 100, accountId });
  stripe.fault = () => 'before';
  expect(await sendEvent(webhook, refundEvent(payment))).toBe(503);
  stripe.fault = () => undefined;
  expect(await sendEvent(webhook, event('payment_intent.succeeded', payment))).toBe(200);
  expect(await readTopup(accountId)).toBe('1000000000000');
});

test.each([
  ['a part of a cent', '1.001'],
  ['less than the least', '0.99'],
  ['more than the most', '10000.01'],
])('a checkout of %s is refused', async (_, usd) => {
  const accountId = await newAccount();
  await expect(administrator.request(checkoutCreate, { accountId, usd })).rejects.toMatchObject({ code: 'invalid_request', param: 'usd' });
});

test('a checkout of an unknown account is refused, and one without Stripe is unavailable', async () => {
  const unknown = { accountId: '0190a6f0-0000-7000-8000-000000000009', usd: '5' };
  await expect(administrator.request(checkoutCreate, unknown)).rejects.toMatchObject({ code: 'not_found' });
  const accountId = await newAccount();
  stripe.fault = () => 'before';
  await expect(administrator.request(checkoutCreate, { accountId, usd: '5' })).rejects.toMatchObject({ code: 'unavailable' });
  stripe.fault = () => undefined;
});

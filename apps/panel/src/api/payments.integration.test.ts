import { type AutoTopup, autoTopupRemove, autoTopupSet, autoTopupShow, checkoutCreate } from '#contracts/payments.js';
import { ServiceError } from '#contracts/service-error.js';
import { MessagingError } from '#messaging/messaging.js';
import { PanelFixture } from '../../test/panel-fixture.js';

const ACME = '0190a6f0-7c1e-7000-8000-00000000000a';
const RULE = { thresholdUsd: '5', amountUsd: '25', monthlyCapUsd: '200' };

const panel = await PanelFixture.open();
const finance = await panel.person('finance', ACME);
afterAll(() => panel.close());

const shown: AutoTopup = { accountId: ACME, rule: null, card: null, monthPicoUsd: '0', pausedBy: null };
const path = (rest: string): string => `/accounts/${ACME}/${rest}`;

test('payments are offered with the rule and the card of the account', async () => {
  panel.messaging.answer(autoTopupShow, ({ accountId }) => ({ ...shown, accountId }));
  const { status, body } = await panel.send(path('card-payments'), { cookie: finance.cookie });
  expect({ status, body }).toEqual({ status: 200, body: { offered: true, autoTopup: shown } });
});

test('payments are not offered where no service listens', async () => {
  panel.messaging.answer(autoTopupShow, () => {
    throw new MessagingError('unavailable', 'No service listens.');
  });
  const { status, body } = await panel.send(path('card-payments'), { cookie: finance.cookie });
  expect({ status, body }).toEqual({ status: 200, body: { offered: false, autoTopup: null } });
});

test('a service that does not answer in time is a failure, not payments that are off', async () => {
  panel.messaging.answer(autoTopupShow, () => {
    throw new MessagingError('timeout', 'No answer.');
  });
  const { status, body } = await panel.send(path('card-payments'), { cookie: finance.cookie });
  expect({ status, message: body.error.message }).toEqual({
    status: 503,
    message: 'The service payments does not answer. Try again in a moment.',
  });
});

test('a checkout, a rule and its end reach the service for the account of the path, in the name of the person', async () => {
  const received: unknown[] = [];
  const note = (name: string, message: object, actor: unknown) => received.push([name, message, actor]);
  panel.messaging.answer(checkoutCreate, (message, { actor }) => {
    note('checkout', message, actor?.actor);
    return {
      accountId: ACME,
      amountPicoUsd: '25000000000000',
      url: 'https://checkout.stripe.com/c/pay/1',
      expiresAt: '2027-01-02T00:00:00.000Z',
    };
  });
  panel.messaging.answer(autoTopupSet, (message, { actor }) => {
    note('set', message, actor?.actor);
    return shown;
  });
  panel.messaging.answer(autoTopupRemove, (message, { actor }) => {
    note('remove', message, actor?.actor);
    return shown;
  });
  const { cookie, userId } = finance;
  // The account of a body does not count.
  const foreign = { accountId: '0190a6f0-7c1e-7000-8000-00000000000f' };
  const replies = [
    await panel.send(path('checkouts'), { method: 'POST', cookie, body: { ...foreign, usd: '25', saveCard: true } }),
    await panel.send(path('auto-topup'), { method: 'PUT', cookie, body: { ...foreign, ...RULE } }),
    await panel.send(path('auto-topup'), { method: 'DELETE', cookie }),
  ];
  expect(replies.map(({ status }) => status)).toEqual([201, 200, 200]);
  expect(received).toEqual([
    ['checkout', { accountId: ACME, usd: '25', saveCard: true }, `user/${userId}`],
    ['set', { accountId: ACME, ...RULE }, `user/${userId}`],
    ['remove', { accountId: ACME }, `user/${userId}`],
  ]);
});

test('a refusal of the service names its field', async () => {
  panel.messaging.answer(autoTopupSet, () => {
    throw new ServiceError('invalid_request', 'The cap must be at least the amount.', 'monthlyCapUsd');
  });
  const { status, body } = await panel.send(path('auto-topup'), { method: 'PUT', cookie: finance.cookie, body: RULE });
  expect({ status, code: body.error.code, param: body.error.param }).toEqual({
    status: 400,
    code: 'invalid_request',
    param: 'monthlyCapUsd',
  });
});

import { deliveryList, type Webhook, webhookAdd, webhookList, webhookUpdate } from '#contracts/billing/webhooks.js';
import type { CallOptions } from '#messaging/messaging.js';
import { PanelFixture } from '../../test/panel-fixture.js';

const ACME = '0190a6f0-7c1e-7000-8000-00000000000a';
const OTHER = '0190a6f0-7c1e-7000-8000-00000000000f';
const WEBHOOK = '0190a6f0-7c1e-7000-8000-0000000000e1';

const webhook: Webhook = {
  ...{ webhookId: WEBHOOK, accountId: ACME, url: 'https://hooks.example.com/secret', format: 'json', allowPrivateNetwork: false },
  ...{ previousSecretUntil: null, createdAt: '2027-01-01T00:00:00.000Z', mutedAt: null },
  ...{ undelivered: 0, failure: null, deadLetters: 0, deadSince: null },
};

const panel = await PanelFixture.open();
const admin = await panel.person('admin');
const auditor = await panel.person('auditor');
const owner = await panel.person('owner', ACME);
const developer = await panel.person('developer', ACME);
afterAll(() => panel.close());

/** Messages that billing got, with the level of their sender. */
let received: [message: object, level: string | undefined][];

beforeEach(() => {
  received = [];
  const keep = <Reply>(reply: Reply) => {
    return (message: object, { actor }: CallOptions) => {
      received.push([message, actor?.level]);
      return reply;
    };
  };
  panel.messaging.answer(webhookList, keep({ webhooks: [webhook] }));
  panel.messaging.answer(webhookAdd, keep({ ...webhook, secret: 'whsec_x' }));
  panel.messaging.answer(webhookUpdate, keep(webhook));
  panel.messaging.answer(deliveryList, keep({ deliveries: [], nextCursor: null }));
});

test('who may change webhooks sees their URLs, and who may only read them the origin', async () => {
  const urls: string[] = [];
  for (const { cookie } of [admin, owner, auditor])
    urls.push((await panel.send(`/accounts/${ACME}/webhooks`, { cookie })).body.webhooks[0].url);
  expect(urls).toEqual([webhook.url, webhook.url, 'https://hooks.example.com/…']);
});

test('billing learns whether people of the account or the operator ask', async () => {
  for (const { cookie } of [admin, auditor, owner]) {
    await panel.send(`/accounts/${ACME}/webhooks`, { cookie });
    await panel.send(`/accounts/${ACME}/webhooks/${WEBHOOK}/deliveries`, { cookie });
  }
  expect(received.map(([, level]) => level)).toEqual([undefined, undefined, undefined, undefined, 'customer', 'customer']);
});

test('a webhook is changed in the account of the path, whatever the body says', async () => {
  const body = { accountId: OTHER, webhookId: OTHER, muted: true };
  const reply = await panel.send(`/accounts/${ACME}/webhooks/${WEBHOOK}`, { method: 'PATCH', body, cookie: owner.cookie });
  expect([reply.status, received]).toEqual([200, [[{ accountId: ACME, webhookId: WEBHOOK, muted: true }, 'customer']]]);
});

test('a webhook is added with 201 and its secret', async () => {
  const body = { webhookId: WEBHOOK, url: webhook.url };
  const reply = await panel.send(`/accounts/${ACME}/webhooks`, { method: 'POST', body, cookie: owner.cookie });
  expect([reply.status, reply.body.secret, received]).toEqual([201, 'whsec_x', [[{ ...body, accountId: ACME }, 'customer']]]);
});

test('events have amounts of the balance: a developer sees neither webhooks nor deliveries', async () => {
  const paths = [`/accounts/${ACME}/webhooks`, `/accounts/${ACME}/webhooks/${WEBHOOK}/deliveries`];
  const replies = await Promise.all(paths.map((path) => panel.send(path, { cookie: developer.cookie })));
  expect(replies.map(({ status, body }) => [status, body.error.code])).toEqual(paths.map(() => [403, 'permission_denied']));
});

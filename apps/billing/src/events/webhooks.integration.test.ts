import { createHmac, randomUUID } from 'node:crypto';
import { billingAuditList } from '#contracts/audit.js';
import { accountCreate, accountUpdate } from '#contracts/billing/accounts.js';
import { topupCreate } from '#contracts/billing/money.js';
import {
  deliveryList,
  webhookAdd,
  webhookList,
  webhookRemove,
  webhookReplay,
  webhookResend,
  webhookRotate,
  webhookTest,
  webhookUpdate,
} from '#contracts/billing/webhooks.js';
import { startBillingService } from '../../test/billing-service.js';
import { type ReceivedMessage, WebhookReceiver } from '../../test/webhook-receiver.js';

const [service, receiver] = await Promise.all([
  startBillingService({ eventIntervalMs: 50, panelUrl: 'https://panel.example.com' }),
  WebhookReceiver.start(),
]);
const administrator = await service.connect('cli');
afterEach(async () => {
  for (const { webhookId } of (await administrator.request(webhookList, {})).webhooks)
    await administrator.request(webhookRemove, { webhookId });
  receiver.answer = (response) => response.writeHead(204).end();
});
afterAll(async () => {
  await service.stop();
  await receiver.stop();
});

async function account(): Promise<string> {
  return (await administrator.request(accountCreate, { name: 'Acme' })).accountId;
}

/** Makes an event: an account without money gets a threshold. */
async function makeEvent(accountId: string, usd: string): Promise<void> {
  await administrator.request(accountUpdate, { accountId, lowBalanceUsd: usd });
}

const add = (path: string, accountId?: string) =>
  administrator.request(webhookAdd, { accountId, url: receiver.url(path), allowPrivateNetwork: true });

/** True when one of the signatures of a message is that of the secret: as a receiver would check it. */
function isSignedWith(secret: string | null, { headers, body }: ReceivedMessage): boolean {
  if (secret === null) return false;
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
  const signature = `v1,${createHmac('sha256', key).update(signed).digest('base64')}`;
  return String(headers['webhook-signature']).split(' ').includes(signature);
}

test('a webhook gets the events of its account, signed, and one for all accounts those of all', async () => {
  const [acme, globex] = [await account(), await account()];
  const [ofAcme, ofAll] = [await add('/acme', acme), await add('/all')];
  await makeEvent(acme, '1');
  await makeEvent(globex, '2');
  await receiver.until(() => receiver.at('/acme').length === 1 && receiver.at('/all').length === 2);
  const [message] = receiver.at('/acme') as [ReceivedMessage];
  expect(message.event).toEqual({
    ...{ eventId: message.headers['webhook-id'], kind: 'balance-low', accountId: acme, sequence: 1, createdAt: expect.any(String) },
    ...{ accountName: 'Acme', balancePicoUsd: '0', lowBalancePicoUsd: '1000000000000' },
  });
  expect(message.headers).toMatchObject({ 'content-type': 'application/json', 'user-agent': expect.stringMatching(/^tollgate\//) });
  expect([isSignedWith(ofAcme.secret, message), isSignedWith(ofAll.secret, message)]).toEqual([true, false]);
  expect(
    receiver
      .at('/all')
      .map(({ event }) => event.accountId)
      .sort(),
  ).toEqual([acme, globex].sort());
});

test('during a rotation messages are signed with both secrets, and another grace does not end the first before its time', async () => {
  const { webhookId, secret } = await add('/rotated');
  const rotated = await administrator.request(webhookRotate, { webhookId, graceSeconds: 3_600 });
  expect(rotated.secret).not.toBe(secret);
  expect(await administrator.request(webhookTest, { webhookId })).toMatchObject({ webhookId, accepted: true, failure: null });
  const [message] = receiver.at('/rotated') as [ReceivedMessage];
  expect([isSignedWith(secret, message), isSignedWith(rotated.secret, message)]).toEqual([true, true]);
  await expect(administrator.request(webhookRotate, { webhookId, graceSeconds: 1 })).rejects.toMatchObject({
    ...{ code: 'conflict', param: 'graceSeconds' },
  });
});

test('a rotation without grace ends the secret before at once', async () => {
  const { webhookId, secret } = await add('/replaced');
  const rotated = await administrator.request(webhookRotate, { webhookId, graceSeconds: 0 });
  await administrator.request(webhookTest, { webhookId });
  const [message] = receiver.at('/replaced') as [ReceivedMessage];
  expect([isSignedWith(secret, message), isSignedWith(rotated.secret, message)]).toEqual([false, true]);
});

test('a rotation without grace is possible at any time, and ends the secrets of a running grace [sec-webhook-secret]', async () => {
  const { webhookId, secret } = await add('/leaked');
  const second = await administrator.request(webhookRotate, { webhookId, graceSeconds: 3_600 });
  const third = await administrator.request(webhookRotate, { webhookId, graceSeconds: 0 });
  await administrator.request(webhookTest, { webhookId });
  const [message] = receiver.at('/leaked') as [ReceivedMessage];
  const valid = [secret, second.secret, third.secret].map((one) => isSignedWith(one, message));
  expect(valid).toEqual([false, false, true]);
});

test('a webhook that is removed and added with the same id has another secret [sec-webhook-secret]', async () => {
  const request = { webhookId: randomUUID(), url: receiver.url('/again'), allowPrivateNetwork: true };
  const first = await administrator.request(webhookAdd, request);
  await administrator.request(webhookRemove, { webhookId: request.webhookId });
  const second = await administrator.request(webhookAdd, request);
  await administrator.request(webhookTest, { webhookId: request.webhookId });
  const [message] = receiver.at('/again') as [ReceivedMessage];
  expect([first.secret, second.secret].map((one) => isSignedWith(one, message))).toEqual([false, true]);
});

test('the id of a removed webhook is not given to a webhook of another account [sec-webhook-secret]', async () => {
  const [acme, globex] = [await account(), await account()];
  const request = { url: receiver.url('/taken'), allowPrivateNetwork: true };
  const { webhookId } = await add('/taken', acme);
  await administrator.request(webhookRemove, { webhookId });
  for (const accountId of [globex, undefined])
    await expect(administrator.request(webhookAdd, { ...request, webhookId, accountId })).rejects.toMatchObject({ code: 'conflict' });
  expect(await administrator.request(webhookAdd, { ...request, webhookId, accountId: acme })).toMatchObject({ webhookId });
});

test('a secret is in the reply that makes it alone: not in lists, the audit journal and the database', async () => {
  const { secret, webhookId, ...webhook } = await add('/secret?token=abc');
  const { webhooks } = await administrator.request(webhookList, {});
  expect(webhooks).toEqual([{ webhookId, ...webhook }]);
  const { entries } = await administrator.request(billingAuditList, { action: 'webhook.create' });
  expect(entries.find(({ target }) => target === `webhook/${webhookId}`)?.after).toEqual({
    ...{ webhookId, accountId: null, origin: new URL(webhook.url).origin, format: 'json', allowPrivateNetwork: true },
  });
  expect(JSON.stringify({ webhooks, entries })).not.toContain(secret?.slice(6));
});

test('adding is repeated with the same id: one webhook, without its secret; another URL is a conflict [sec-webhook-secret]', async () => {
  const request = { webhookId: randomUUID(), url: receiver.url('/once'), allowPrivateNetwork: true };
  const first = await administrator.request(webhookAdd, request);
  expect(await administrator.request(webhookAdd, request)).toEqual({ ...first, secret: null });
  await expect(administrator.request(webhookAdd, { ...request, url: receiver.url('/other') })).rejects.toMatchObject({ code: 'conflict' });
  expect((await administrator.request(webhookList, {})).webhooks).toHaveLength(1);
});

test.each([
  ['no URL', 'receiver', true],
  ['another protocol', 'ftp://example.com/', true],
  ['http without private networks', 'http://example.com/', false],
  ['a user in the URL', 'https://ann:secret@example.com/', false],
  ['loopback', 'https://127.0.0.1/', false],
  ['loopback in another notation', 'https://0x7f.1/', false],
  ['metadata, even with private networks', 'http://169.254.169.254/', true],
])('%s is refused when it is added: %s', async (_, url, allowPrivateNetwork) => {
  await expect(administrator.request(webhookAdd, { url, allowPrivateNetwork })).rejects.toMatchObject({ code: 'invalid_request' });
});

test.each([
  'https://hooks.example.com/',
  'mailto:ada@example.com,eve@example.com',
  'mailto:ada@example.com?bcc=eve@example.com',
  'mailto:Ada',
])('%s is no address for mail', async (url) => {
  const adding = administrator.request(webhookAdd, { url, format: 'mail' });
  await expect(adding).rejects.toMatchObject({ code: 'invalid_request', param: 'url' });
});

test('an address is a destination for mail alone', async () => {
  const url = 'mailto:ada@example.com';
  expect(await administrator.request(webhookAdd, { url, format: 'mail' })).toMatchObject({ url, format: 'mail' });
  await expect(administrator.request(webhookAdd, { url })).rejects.toMatchObject({ code: 'invalid_request', param: 'url' });
});

test('a name that resolves to a private address is refused when it is called', async () => {
  const { port } = new URL(receiver.url('/'));
  const { webhookId } = await administrator.request(webhookAdd, { url: `https://localhost:${port}/guarded` });
  const tested = await administrator.request(webhookTest, { webhookId });
  expect(tested).toEqual({
    ...{ webhookId, accepted: false, milliseconds: expect.any(Number) },
    answer: tested.failure,
    failure: expect.stringMatching(/^localhost is .*, which is a private address, and allowPrivateNetwork is not set$/),
  });
});

test('a redirect is not followed', async () => {
  const { webhookId } = await add('/redirects');
  receiver.answer = (response) => response.writeHead(307, { location: receiver.url('/target') }).end();
  expect(await administrator.request(webhookTest, { webhookId })).toMatchObject({ accepted: false, failure: 'status 307' });
  expect(receiver.at('/target')).toEqual([]);
});

test('a reply that never ends does not keep a message from being accepted', async () => {
  const { webhookId } = await add('/endless');
  receiver.answer = (response) => {
    response.writeHead(200);
    const more = setInterval(() => response.write('x'.repeat(65_536)), 1);
    response.on('close', () => clearInterval(more));
  };
  expect(await administrator.request(webhookTest, { webhookId })).toMatchObject({ accepted: true });
});

test('a webhook that is added later gets older events by a replay, in their order', async () => {
  const acme = await account();
  await administrator.request(topupCreate, { accountId: acme, usd: '1', paymentId: randomUUID() });
  const from = new Date(Date.now() - 3_600_000).toISOString();
  for (const usd of ['2', '3', '4']) await makeEvent(acme, usd);
  const { webhookId } = await add('/late', acme);
  expect(await administrator.request(webhookReplay, { webhookId, from })).toEqual({ webhookId, events: 3 });
  await receiver.until(() => receiver.sequences('/late').length === 3);
  expect(receiver.sequences('/late')).toEqual([1, 2, 3]);
});

/** Sequences and states of the deliveries to a webhook, newest first. */
async function states(webhookId: string): Promise<[sequence: number, state: string][]> {
  const { deliveries } = await administrator.request(deliveryList, { webhookId });
  return deliveries.map(({ event, state }) => [event.sequence, state]);
}

async function untilStates(webhookId: string, expected: [number, string][]): Promise<void> {
  while (JSON.stringify(await states(webhookId)) !== JSON.stringify(expected)) await new Promise((resolve) => setTimeout(resolve, 20));
}

test('a muted webhook gets nothing; unmuted it goes on with the next event, and a replay sends the others', async () => {
  const acme = await account();
  const { webhookId } = await add('/muted', acme);
  const muted = await administrator.request(webhookUpdate, { webhookId, muted: true });
  expect(muted.mutedAt).toMatch(/Z$/);
  const from = new Date(Date.now() - 60_000).toISOString();
  for (const usd of ['1', '2']) await makeEvent(acme, usd);
  await expect(administrator.request(webhookReplay, { webhookId, from })).rejects.toMatchObject({ code: 'conflict' });
  expect(await administrator.request(webhookUpdate, { webhookId, muted: false })).toMatchObject({ mutedAt: null, undelivered: 0 });
  await makeEvent(acme, '3');
  await untilStates(webhookId, [[3, 'accepted']]);
  expect(await administrator.request(webhookReplay, { webhookId, from })).toEqual({ webhookId, events: 3 });
  await receiver.until(() => receiver.sequences('/muted').length === 4);
  expect(receiver.sequences('/muted')).toEqual([3, 1, 2, 3]);
});

test('muting a webhook drops what waits for it', async () => {
  const acme = await account();
  const { webhookId } = await add('/dropped', acme);
  receiver.answer = (response) => response.writeHead(503).end();
  for (const usd of ['1', '2']) await makeEvent(acme, usd);
  await untilStates(webhookId, [
    [2, 'waiting'],
    [1, 'retrying'],
  ]);
  expect(await administrator.request(webhookUpdate, { webhookId, muted: true })).toMatchObject({ undelivered: 0, failure: null });
  expect(await states(webhookId)).toEqual([[1, 'failed']]);
});

test('deliveries have the event as it is sent, its attempts and the answer to the last one', async () => {
  const acme = await account();
  const { webhookId } = await add('/listed', acme);
  await makeEvent(acme, '1');
  await untilStates(webhookId, [[1, 'accepted']]);
  const { deliveries, nextCursor } = await administrator.request(deliveryList, { webhookId, accountId: acme, limit: 1 });
  expect({ deliveries, nextCursor }).toEqual({
    deliveries: [
      {
        ...{ event: receiver.at('/listed')[0]?.event, state: 'accepted', attempts: 1, answer: 'status 204' },
        ...{ milliseconds: expect.any(Number), attemptedAt: expect.stringMatching(/Z$/), nextAttemptAt: null },
      },
    ],
    nextCursor: null,
  });
});

test('deliveries are listed page by page', async () => {
  const acme = await account();
  const { webhookId } = await add('/pages', acme);
  for (const usd of ['1', '2', '3']) await makeEvent(acme, usd);
  await receiver.until(() => receiver.sequences('/pages').length === 3);
  const first = await administrator.request(deliveryList, { webhookId, limit: 2 });
  const second = await administrator.request(deliveryList, { webhookId, limit: 2, cursor: first.nextCursor ?? '' });
  const pages = [first, second].map(({ deliveries, nextCursor }) => [deliveries.map(({ event }) => event.sequence), nextCursor === null]);
  expect(pages).toEqual([
    [[3, 2], false],
    [[1], true],
  ]);
});

test('the deliveries of a webhook of all accounts are those of the account that is named', async () => {
  const [acme, globex] = [await account(), await account()];
  const { webhookId } = await add('/of-all');
  await makeEvent(acme, '1');
  await makeEvent(globex, '2');
  await receiver.until(() => receiver.at('/of-all').length === 2);
  const { deliveries } = await administrator.request(deliveryList, { webhookId, accountId: globex });
  expect(deliveries.map(({ event }) => event.accountId)).toEqual([globex]);
  await expect(administrator.request(deliveryList, { webhookId })).rejects.toMatchObject({ code: 'invalid_request', param: 'accountId' });
});

test('one event is sent again with its id and the names that it was written with', async () => {
  const acme = await account();
  const { webhookId } = await add('/resent', acme);
  await makeEvent(acme, '1');
  await untilStates(webhookId, [[1, 'accepted']]);
  await administrator.request(accountUpdate, { accountId: acme, name: 'Globex' });
  const [first] = receiver.at('/resent') as [ReceivedMessage];
  const { eventId } = first.event;
  expect(await administrator.request(webhookResend, { webhookId, eventId })).toMatchObject({ accepted: true, answer: 'status 204' });
  expect(receiver.at('/resent').map(({ body }) => body)).toEqual([first.body, first.body]);
  const { deliveries } = await administrator.request(deliveryList, { webhookId });
  expect(deliveries.map(({ attempts }) => attempts)).toEqual([2]);
});

test('an event of another account is not sent to a webhook', async () => {
  const [acme, globex] = [await account(), await account()];
  const [ofAcme, ofGlobex] = [await add('/acme-only', acme), await add('/globex-only', globex)];
  await makeEvent(globex, '1');
  await untilStates(ofGlobex.webhookId, [[1, 'accepted']]);
  const { eventId } = receiver.at('/globex-only')[0]?.event ?? {};
  const request = { webhookId: ofAcme.webhookId, eventId: eventId ?? '' };
  await expect(administrator.request(webhookResend, request)).rejects.toMatchObject({ code: 'not_found', param: 'eventId' });
});

test('what waits goes to a new URL at once', async () => {
  const acme = await account();
  const { webhookId } = await add('/old', acme);
  receiver.answer = (response, { path }) => response.writeHead(path === '/old' ? 500 : 204).end();
  await makeEvent(acme, '1');
  await untilStates(webhookId, [[1, 'retrying']]);
  await administrator.request(webhookUpdate, { webhookId, url: receiver.url('/new') });
  await untilStates(webhookId, [[1, 'accepted']]);
  expect(receiver.sequences('/new')).toEqual([1]);
});

test('a webhook for chats gets a sentence, signed as every message', async () => {
  const acme = await account();
  const request = { accountId: acme, url: receiver.url('/slack'), format: 'slack', allowPrivateNetwork: true } as const;
  const { webhookId, secret } = await administrator.request(webhookAdd, request);
  await administrator.request(webhookTest, { webhookId });
  await makeEvent(acme, '1.50');
  await untilStates(webhookId, [[1, 'accepted']]);
  const messages = receiver.at('/slack');
  expect(messages.map(({ body }) => JSON.parse(body))).toEqual([
    { text: 'Tollgate: this is a test. Events of the account come here.' },
    { text: `Acme: the balance is low, $0.00 with a threshold of $1.50. https://panel.example.com/panel/a/${acme}/money` },
  ]);
  expect(messages.map((message) => isSignedWith(secret, message))).toEqual([true, true]);
});

test('a webhook gets another format from the next attempt on', async () => {
  const acme = await account();
  const { webhookId } = await add('/reformed', acme);
  receiver.answer = (response, { event }) => response.writeHead('kind' in event ? 400 : 204).end();
  await makeEvent(acme, '2');
  await untilStates(webhookId, [[1, 'retrying']]);
  expect(await administrator.request(webhookUpdate, { webhookId, format: 'slack' })).toMatchObject({ format: 'slack' });
  await untilStates(webhookId, [[1, 'accepted']]);
});

describe('people of an account', () => {
  const person = { actor: { actor: 'user/ada', level: 'customer' as const } };
  const url = 'https://hooks.example.com/acme';

  test('see and change the webhooks that one of them added, and no other', async () => {
    const [acme, globex] = [await account(), await account()];
    const theirs = await administrator.request(webhookAdd, { accountId: acme, url }, person);
    await administrator.request(webhookAdd, { accountId: acme, url: `${url}/operator` });
    await administrator.request(webhookAdd, { url: `${url}/all` });
    const { secret: _, ...webhook } = theirs;
    expect(await administrator.request(webhookList, { accountId: acme }, person)).toEqual({ webhooks: [webhook] });
    expect((await administrator.request(webhookList, { accountId: acme })).webhooks).toHaveLength(3);
    expect(await administrator.request(webhookList, { accountId: globex }, person)).toEqual({ webhooks: [] });
    const muted = await administrator.request(webhookUpdate, { webhookId: webhook.webhookId, accountId: acme, muted: true }, person);
    expect(muted.mutedAt).toMatch(/Z$/);
  });

  test.each(['update', 'remove', 'rotate', 'test', 'replay', 'deliveries', 'resend'] as const)(
    'the %s of a webhook of the operator, of all accounts or of another account does not exist for them',
    async (act) => {
      const [acme, globex] = [await account(), await account()];
      const others = [
        await administrator.request(webhookAdd, { accountId: acme, url }),
        await administrator.request(webhookAdd, { url }),
        await administrator.request(webhookAdd, { accountId: globex, url }, person),
      ];
      const endpoint = {
        ...{ update: webhookUpdate, remove: webhookRemove, rotate: webhookRotate, test: webhookTest },
        ...{ replay: webhookReplay, deliveries: deliveryList, resend: webhookResend },
      }[act];
      const fields = { ...{ update: { muted: true }, rotate: { graceSeconds: 0 } }[act as string] };
      const more = { ...{ replay: { from: '2027-01-01' }, resend: { eventId: randomUUID() } }[act as string] };
      for (const { webhookId } of others) {
        const asked = administrator.request(endpoint as typeof webhookTest, { webhookId, accountId: acme, ...fields, ...more }, person);
        await expect(asked).rejects.toMatchObject({ code: 'not_found', param: 'webhookId' });
      }
    },
  );

  test('choose public addresses alone', async () => {
    const accountId = await account();
    const isPrivate = { accountId, url: receiver.url('/'), allowPrivateNetwork: true };
    await expect(administrator.request(webhookAdd, isPrivate, person)).rejects.toMatchObject({ code: 'permission_denied' });
    const { webhookId } = await administrator.request(webhookAdd, { accountId, url }, person);
    await administrator.request(webhookUpdate, { webhookId, allowPrivateNetwork: true });
    const moved = administrator.request(webhookUpdate, { webhookId, accountId, url: receiver.url('/') }, person);
    await expect(moved).rejects.toMatchObject({ code: 'invalid_request', param: 'url' });
  });

  test('have 20 webhooks at most', async () => {
    const accountId = await account();
    for (let made = 0; made < 20; made++) await administrator.request(webhookAdd, { accountId, url }, person);
    await expect(administrator.request(webhookAdd, { accountId, url }, person)).rejects.toMatchObject({ code: 'conflict', param: 'url' });
  });
});

test('an unknown webhook', async () => {
  const webhookId = randomUUID();
  const unknown = { code: 'not_found' };
  await expect(administrator.request(webhookRemove, { webhookId })).rejects.toMatchObject(unknown);
  await expect(administrator.request(webhookTest, { webhookId })).rejects.toMatchObject(unknown);
  await expect(administrator.request(webhookRotate, { webhookId, graceSeconds: 0 })).rejects.toMatchObject(unknown);
  await expect(administrator.request(webhookReplay, { webhookId, from: '2027-01-01' })).rejects.toMatchObject(unknown);
});

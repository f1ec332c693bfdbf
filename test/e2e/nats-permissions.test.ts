import { connect, headers, type NatsConnection, StringCodec } from 'nats';
import { stack } from '#testing/stack.js';

const { natsUrl, natsPasswords, accountId } = stack();
const codec = StringCodec();
const open: NatsConnection[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((connection) => connection.close()));
});

/** A plain client without any code of ours, as an attacker or another team would have. */
async function connectAs(user: string | undefined, password: string | undefined): Promise<NatsConnection> {
  const connection = await connect({ servers: natsUrl, user, pass: password, inboxPrefix: `_INBOX.${user}`, reconnect: false });
  open.push(connection);
  return connection;
}

test.each([
  ['no password', undefined, undefined],
  ['a wrong password', 'gateway', 'guess'],
  ['an unknown user', 'root', 'guess'],
])('with %s nobody gets in', async (_name, user, password) => {
  await expect(connectAs(user, password)).rejects.toMatchObject({ code: 'AUTHORIZATION_VIOLATION' });
});

test.each([
  ['billing.v1.topup.create', { accountId, usd: '1000000.00', paymentId: 'forged' }],
  ['billing.v1.plan.grant', { accountId, usd: '1000000.00', expiresAt: '2099-01-01T00:00:00Z' }],
  ['billing.v1.account.create', { name: 'forged' }],
  ['billing.v1.key.create', { projectId: accountId }],
  ['billing.v1.key.list', {}],
  ['catalog.v1.catalog.apply', { yaml: 'models: []' }],
  ['catalog.v1.route.list', {}],
])('as the gateway, %s is refused', async (subject, payload) => {
  const gateway = await connectAs('gateway', natsPasswords.gateway);
  const refused = gateway.request(subject, codec.encode(JSON.stringify(payload)), { timeout: 1000 });
  await expect(refused).rejects.toMatchObject({ code: expect.stringMatching(/PERMISSIONS_VIOLATION|TIMEOUT/) });
});

test('no money came of it', async () => {
  const cli = await connectAs('cli', natsPasswords.cli);
  const reply = await cli.request('billing.v1.balance.get', codec.encode(JSON.stringify({ accountId })), { timeout: 5000 });
  expect(reply.json()).toMatchObject({ object: 'balance', plan_balance_pico_usd: '0' });
  expect(BigInt(reply.json<{ balance_pico_usd: string }>().balance_pico_usd)).toBeLessThan(1_000_000n * 10n ** 12n);
});

test('as the gateway, nobody else’s messages can be overheard', async () => {
  const gateway = await connectAs('gateway', natsPasswords.gateway);
  const refused = new Promise<unknown>((resolve) => {
    gateway.subscribe('billing.v1.>', { callback: (error) => resolve(error) });
  });
  await expect(refused).resolves.toMatchObject({ code: 'PERMISSIONS_VIOLATION' });
});

test.each([
  ['catalog', 'catalog.v1.model.list'],
  ['billing', 'billing.v1.usage.query'],
])('as a user that may only read, %s cannot be made to publish an event', async (owner, subject) => {
  const internal = await connectAs('internal', natsPasswords.internal);
  const heard: string[] = [];
  const event = `${owner}.v1.event.changed`;
  internal.subscribe(event, { callback: (_error, message) => heard.push(message.string()) });
  const announcement = headers();
  announcement.set('Tollgate-Payload-Bytes', '2000000');
  announcement.set('Tollgate-Payload-From', event);
  internal.publish(subject, '{}', { reply: event });
  const reply = await internal.request(subject, '', { headers: announcement, timeout: 5000 });
  expect(reply.json()).toMatchObject({ code: 'invalid_request' });
  await internal.flush();
  expect(heard).toEqual([]);
});

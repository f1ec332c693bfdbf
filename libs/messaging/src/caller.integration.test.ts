import { Controller } from '@nestjs/common';
import { connect, headers, type NatsConnection } from 'nats';
import type { Caller } from '#contracts/audit.js';
import { adjustmentCreate, balanceGet } from '#contracts/billing/money.js';
import { EmptyRequest } from '#contracts/catalog.js';
import { startNatsWithUsers, TEST_NATS_PASSWORD } from '#testing/nats-with-users.js';
import { Connections, eventually, serve } from '../testing/test-services.js';
import type { CallContext } from './messaging.js';
import { Serves } from './serves.js';

const callers: Caller[] = [];
const adjust = Object.assign(Object.create(adjustmentCreate) as typeof adjustmentCreate, { request: EmptyRequest });
const balance = Object.assign(Object.create(balanceGet) as typeof balanceGet, { request: EmptyRequest });

@Controller()
class Billing {
  @Serves(adjust) adjust(_request: object, { caller }: CallContext): never {
    callers.push(caller);
    return {} as never;
  }

  @Serves(balance) balance(_request: object, { caller }: CallContext): never {
    callers.push(caller);
    return {} as never;
  }
}

let server: Awaited<ReturnType<typeof startNatsWithUsers>>;
const connections = new Connections(() => server.url);
const as = (service: string) => connections.connect(service, { password: TEST_NATS_PASSWORD });
const raw = (user: string): Promise<NatsConnection> =>
  connect({ servers: server.url, user, pass: TEST_NATS_PASSWORD, inboxPrefix: `_INBOX.${user}`, reconnect: false });

beforeAll(async () => {
  server = await startNatsWithUsers();
  await serve(await as('billing'), [Billing], { name: 'billing' });
});
beforeEach(() => {
  callers.length = 0;
});
afterAll(async () => {
  await connections.closeAll();
  await server.stop();
});

test.each(['cli', 'panel'])('a change by %s is recorded with this user', async (user) => {
  await (await as(user)).request(adjust, {} as never, { actor: { actor: 'user/7' } });
  expect(callers).toEqual([{ actor: 'user/7', actorName: null, via: user, ip: null, requestId: null }]);
});

test('the panel cannot claim to be the cli: neither by its reply subject nor by the subject of the cli [sec-caller]', async () => {
  const [panel, cli] = [await raw('panel'), await raw('cli')];
  const heard: string[] = [];
  cli.subscribe('_INBOX.cli.>', { callback: (_error, message) => heard.push(message.subject) });
  await cli.flush();
  const claim = headers();
  claim.set('Tollgate-Actor', 'cli/root@prod-host');
  for (const subject of [adjust.subject, `${adjust.subject}.by.cli`, `${adjust.subject}.by.panel`])
    panel.publish(subject, '{}', { reply: '_INBOX.cli.nobody.c1', headers: claim });
  // Answered after the requests before it.
  await panel.request(`${adjust.subject}.by.panel`, '{}', { timeout: 5_000 });
  await cli.flush();
  expect({ heard, vias: callers.map(({ via }) => via) }).toEqual({ heard: [], vias: ['panel'] });
  await Promise.all([panel.close(), cli.close()]);
});

test('the sender of a request on a shared subject is not known by its reply subject', async () => {
  const internal = await raw('internal');
  internal.publish(balance.subject, '{}', { reply: '_INBOX.cli.nobody.c1' });
  await eventually(() => callers.length === 1);
  expect(callers).toEqual([{ actor: 'nats/unknown', actorName: null, via: null, ip: null, requestId: null }]);
  await internal.close();
});

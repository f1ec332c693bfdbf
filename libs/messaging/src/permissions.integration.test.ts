import { Controller } from '@nestjs/common';
import { connect, headers, type Msg, type NatsConnection, RequestStrategy } from 'nats';
import * as catalog from '#contracts/catalog.js';
import { type Endpoint, NamedEndpoint, ReplicaEndpoint, type StreamEndpoint, subjectFor } from '#contracts/endpoint.js';
import { everyEndpoint, everyStreamEndpoint as streams, everyTopic as topics } from '#contracts/every-contract.js';
import { requestEstimate } from '#contracts/gateway.js';
import * as inference from '#contracts/inference.js';
import * as upstreamProbe from '#contracts/probe.js';
import type { StreamEvent } from '#inference/stream-event.js';
import { startNatsServer, type TestNatsServer } from '#testing/nats-server.js';
import { Connections, eventually, serve } from '../testing/test-services.js';
import { MessagingError } from './messaging.js';
import type { NatsMessaging } from './nats-messaging.js';
import { Serves } from './serves.js';
import { subscribe } from './subscribe.js';
import { decodeJson } from './wire.js';

const CONFIG = new URL('../../../config/nats-passwords.conf', import.meta.url).pathname;
const USERS = ['gateway', 'billing', 'catalog', 'inference-proxy', 'panel', 'payments', 'cli', 'internal'] as const;
type User = (typeof USERS)[number];

const makePassword = (user: User): string => `secret-of-${user}`;
const variableName = (user: User): string => `NATS_${user.toUpperCase().replace('-', '_')}_PASSWORD`;

/** Answers the gateway and calls nothing, so that it is none of the callers below. */
const POLICY_PASSWORD = 'secret-of-policy';
/** Environment of the server, read at every restart. */
const environment: Record<string, string> = {
  ...Object.fromEntries(USERS.map((user) => [variableName(user), makePassword(user)])),
  NATS_CRAWLER_PASSWORD: 'secret-of-crawler',
  NATS_POLICY_PASSWORD: POLICY_PASSWORD,
};
const endpoints = everyEndpoint.map((endpoint) => (endpoint instanceof NamedEndpoint ? endpoint.named('secrets') : endpoint));

let server: TestNatsServer;
let policy: NatsConnection;
const services: NatsMessaging[] = [];
const connections = new Connections(() => server.url);
const as = (user: User): Promise<NatsMessaging> => connections.connect(user, { password: makePassword(user) });

/** Callers of each subject. A new subject needs an entry here and in nats.conf. */
const CALLERS: Record<string, User[]> = {
  'billing.v1.key.resolve': ['gateway'],
  'billing.v1.key.find': ['gateway'],
  'billing.v1.hold.apply': ['gateway'],
  'billing.v1.hold.reserve': ['gateway'],
  'billing.v1.hold.settle': ['gateway', 'inference-proxy'],
  'billing.v1.hold.release': ['gateway'],
  'billing.v1.hold.renew': ['gateway', 'inference-proxy'],
  'billing.v1.hold.list': ['cli'],
  'billing.v1.request.show': ['cli', 'panel'],
  'billing.v1.request.list': ['cli', 'panel'],
  'billing.v1.balance.get': ['gateway', 'cli', 'panel', 'payments', 'internal'],
  'billing.v1.account.create': ['cli', 'panel'],
  'billing.v1.account.list': ['cli', 'panel'],
  'billing.v1.project.create': ['cli', 'panel'],
  'billing.v1.project.update': ['cli', 'panel'],
  'billing.v1.project.list': ['cli', 'panel'],
  'billing.v1.key.create': ['cli', 'panel'],
  'billing.v1.key.update': ['cli', 'panel'],
  'billing.v1.key.rotate': ['cli', 'panel'],
  'billing.v1.key.revoke': ['cli', 'panel'],
  'billing.v1.key.list': ['cli', 'panel'],
  'billing.v1.child-key.resolve': ['gateway'],
  'billing.v1.child-key.mint': ['cli', 'panel'],
  'billing.v1.child-key.list': ['cli', 'panel'],
  'billing.v1.child-key.revoke': ['cli', 'gateway', 'panel'],
  'billing.v1.quote.key': ['gateway'],
  'billing.v1.own-key.show': ['gateway'],
  'billing.v1.own-key.usage': ['gateway'],
  'billing.v1.own-key.request': ['gateway'],
  'billing.v1.own-key.receipt': ['gateway'],
  'billing.v1.receipt.keys': ['gateway', 'cli', 'panel'],
  'billing.v1.receipt.show': ['cli', 'panel'],
  'billing.v1.receipt.list': ['cli', 'panel'],
  'billing.v1.receipt.month': ['cli', 'panel'],
  'billing.v1.account.update': ['cli', 'panel'],
  'billing.v1.account.plan': ['cli'],
  'billing.v1.account.apply': ['cli', 'panel'],
  'billing.v1.account.export': ['cli'],
  'billing.v1.budget.set': ['cli', 'panel'],
  'billing.v1.budget.list': ['cli', 'panel'],
  'billing.v1.budget.values': ['cli', 'panel'],
  'billing.v1.budget.remove': ['cli', 'panel'],
  'billing.v1.topup.create': ['cli', 'panel', 'payments'],
  'billing.v1.refund.create': ['cli', 'panel', 'payments'],
  'billing.v1.adjustment.create': ['cli', 'panel'],
  'billing.v1.credit-note.create': ['cli', 'panel'],
  'billing.v1.movement.list': ['cli', 'panel', 'internal'],
  'billing.v1.usage.query': ['cli', 'panel', 'internal'],
  'billing.v1.service.list': ['cli'],
  'billing.v1.usage.rebuild': ['cli'],
  'billing.v1.usage.rerate': ['cli'],
  'billing.v1.usage.margin': ['cli', 'panel'],
  'billing.v1.ledger.check': ['cli', 'panel'],
  'billing.v1.ledger.check.list': ['cli', 'panel'],
  'billing.v1.ledger.losses': ['cli'],
  'billing.v1.month.close': ['cli'],
  'billing.v1.month.detach': ['cli'],
  'billing.v1.month.attach': ['cli'],
  'billing.v1.month.list': ['cli'],
  'billing.v1.month.read': ['cli'],
  'billing.v1.audit.list': ['cli', 'panel'],
  'billing.v1.webhook.add': ['cli', 'panel'],
  'billing.v1.webhook.list': ['cli', 'panel'],
  'billing.v1.webhook.remove': ['cli', 'panel'],
  'billing.v1.webhook.rotate': ['cli', 'panel'],
  'billing.v1.webhook.replay': ['cli', 'panel'],
  'billing.v1.webhook.test': ['cli', 'panel'],
  'billing.v1.webhook.update': ['cli', 'panel'],
  'billing.v1.webhook.deliveries': ['cli', 'panel'],
  'billing.v1.webhook.resend': ['cli', 'panel'],
  'billing.v1.plan.grant': ['cli', 'panel'],
  'billing.v1.plan.subscribe': ['cli'],
  'billing.v1.plan.show': ['cli'],
  'billing.v1.plan.cancel': ['cli'],
  'catalog.v1.model.list': ['gateway', 'cli', 'panel', 'internal'],
  'catalog.v1.route.list': ['inference-proxy'],
  'catalog.v1.upstream-test.record': ['inference-proxy'],
  'catalog.v1.catalog.apply': ['cli', 'panel'],
  'catalog.v1.catalog.get': ['cli', 'panel'],
  'catalog.v1.catalog.plan': ['cli', 'panel'],
  'catalog.v1.revision.list': ['cli', 'panel'],
  'catalog.v1.price.schedule': ['cli', 'panel'],
  'catalog.v1.price.list': ['cli', 'panel'],
  'catalog.v1.price.cancel': ['cli', 'panel'],
  'catalog.v1.price.show': ['cli', 'panel'],
  'catalog.v1.cost.list': ['cli', 'panel'],
  'catalog.v1.audit.list': ['cli', 'panel'],
  'catalog.v1.audit.check': ['cli', 'panel'],
  'gateway.v1.request.estimate': ['cli', 'internal'],
  // Internal services alone: `as an internal service` below.
  'gateway.v1.item.reserve': [],
  'gateway.v1.item.renew': [],
  'gateway.v1.item.settle': [],
  'gateway.v1.item.release': [],
  'inference.v1.route.status': ['cli', 'panel'],
  'policy.v1.decide.secrets': ['gateway'],
  'service.v1.replica.status': ['cli', 'panel'],
  'panel.v1.invite.create': ['cli'],
  'panel.v1.member.plan': ['cli'],
  'panel.v1.member.apply': ['cli'],
  'panel.v1.user.list': ['cli'],
  'panel.v1.user.update': ['cli'],
  'panel.v1.session.end': ['cli'],
  'panel.v1.second-factor.reset': ['cli'],
  'panel.v1.audit.check': ['cli'],
  'panel.v1.audit.list': ['cli'],
  'panel.v1.mail.send': ['billing', 'cli'],
  'payments.v1.checkout.create': ['cli', 'panel'],
  'payments.v1.auto-topup.set': ['cli', 'panel'],
  'payments.v1.auto-topup.remove': ['cli', 'panel'],
  'payments.v1.auto-topup.show': ['cli', 'panel'],
  'payments.v1.audit.list': ['cli', 'panel'],
};

/** Users that receive each event, besides `internal` and `panel`, which receive all. */
const CACHES: Record<string, User[]> = {
  'billing.v1.event.key-changed': ['gateway'],
  'billing.v1.event.replica-ready': ['gateway'],
  'catalog.v1.event.changed': ['gateway', 'inference-proxy'],
  'gateway.v1.event.requests-ended': [],
  'inference.v1.event.replica-ready': [],
};

/** Readers of each stream. The inference-proxy serves all of them. */
const READERS: Record<string, User[]> = {
  'inference.v1.generate': ['gateway'],
  'inference.v1.candidate.test': ['cli'],
  'inference.v1.upstream.test': ['cli', 'panel'],
};

/** Returns the contract with a request without fields: the messages of these tests have none. */
function unchecked<Contract extends Endpoint<object, unknown> | StreamEndpoint<object, object>>(contract: Contract): Contract {
  return Object.assign(Object.create(contract) as Contract, { request: catalog.EmptyRequest });
}

@Controller()
class Upstream {
  @Serves(unchecked(inference.generate)) generate(): AsyncIterable<readonly StreamEvent[]> {
    return countTo200<StreamEvent>((text) => ({ type: 'text-delta', text }));
  }

  @Serves(unchecked(upstreamProbe.candidateProbe)) testCandidate(): AsyncIterable<readonly upstreamProbe.UpstreamProbeEvent[]> {
    return this.test();
  }

  @Serves(unchecked(upstreamProbe.upstreamProbe)) test(): AsyncIterable<readonly upstreamProbe.UpstreamProbeEvent[]> {
    return countTo200((model) => ({ type: 'test-start', upstreamId: 'local', kind: 'openai-chat', model, isInCatalog: true }));
  }
}

async function* countTo200<Event>(event: (text: string) => Event): AsyncIterable<readonly Event[]> {
  for (let index = 0; index < 200; index++) {
    await new Promise((resolve) => setImmediate(resolve));
    yield [event(String(index))];
  }
}

/** Serves every endpoint whose subject starts with `prefix`, with a reply that is its subject. */
function answering(prefix: string): new () => object {
  class Answering {}
  Controller()(Answering);
  for (const endpoint of endpoints.filter(({ subject }) => subject.startsWith(prefix))) {
    const descriptor = { value: () => Promise.resolve(endpoint.subject), writable: true, configurable: true };
    Serves(unchecked(endpoint))(Answering.prototype, endpoint.subject, descriptor);
    Object.defineProperty(Answering.prototype, endpoint.subject, descriptor);
  }
  return Answering;
}

beforeAll(async () => {
  server = await startNatsServer(['-c', CONFIG], environment);
  const controllers = {
    billing: answering('billing.'),
    catalog: answering('catalog.'),
    gateway: answering('gateway.'),
    'inference-proxy': [Upstream, answering('inference.')],
    panel: answering('panel.'),
    payments: answering('payments.'),
  };
  policy = await connect({ servers: server.url, user: 'policy', pass: POLICY_PASSWORD, maxReconnectAttempts: -1 });
  const answer = (subject: string): Uint8Array => Buffer.from(JSON.stringify(subject));
  policy.subscribe('policy.v1.decide.secrets', { callback: (_, message) => message.respond(answer(message.subject)) });
  const ofEvery = answering('service.');
  for (const [user, controller] of Object.entries(controllers)) {
    services.push(await as(user as User));
    await serve(services.at(-1) as NatsMessaging, [controller, ofEvery].flat(), { name: user, replicaId: 'one' });
  }
});

afterAll(async () => {
  await policy?.close();
  await connections.closeAll();
  await server.stop();
});

describe('without the right password', () => {
  test.each([
    ['a wrong one', { user: 'cli', pass: 'guess' }],
    ['an empty one', { user: 'cli', pass: '' }],
    ['no user', {}],
    ['an unknown user', { user: 'admin', pass: makePassword('cli') }],
  ])('%s is refused', async (_name, credentials) => {
    await expect(connect({ servers: server.url, ...credentials })).rejects.toMatchObject({ code: 'AUTHORIZATION_VIOLATION' });
  });

  test('a command fails at once with a clear message', async () => {
    await expect(connections.connect('cli', { password: 'guess', connectTimeoutMs: 60_000 })).rejects.toEqual(
      new MessagingError('unavailable', 'NATS authentication failed for user "cli": wrong user or password'),
    );
  });

  test('a service keeps trying, and logs the reason once', async () => {
    const lines: unknown[] = [];
    const note = (...line: unknown[]): number => lines.push(line);
    const logger = { error: note, warn: note, info: note } as never;
    let connected = false;
    const password = `${makePassword('internal')}-to-be`;
    const connecting = connections.connect('internal', { password, logger }).then(() => (connected = true));
    await eventually(() => lines.length > 0, 15_000);
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    expect({ connected, lines }).toEqual({
      connected: false,
      lines: [[{ code: 'AUTHORIZATION_VIOLATION' }, 'NATS authentication failed for user "internal": wrong user or password']],
    });
    environment[variableName('internal')] = password;
    await server.restart();
    await connecting;
    environment[variableName('internal')] = makePassword('internal');
    await server.restart();
    await eventually(() => connected);
  });
});

describe('as a user', () => {
  let callers: Map<User, NatsMessaging>;

  beforeAll(async () => {
    callers = new Map(await Promise.all(USERS.map(async (user) => [user, await as(user)] as const)));
    await eventually(() => services.every(({ connected }) => connected));
    await Promise.all(services.map(({ link }) => link.connection.flush()));
    // The server was started again before: the policy's connection comes back by itself.
    const isBack = (): Promise<boolean> =>
      policy.rtt().then(
        () => true,
        () => false,
      );
    while (!(await isBack())) await new Promise((resolve) => setTimeout(resolve, 5));
  });

  const findConnection = (user: User): NatsConnection => (callers.get(user) as NatsMessaging).link.connection;

  test('every subject of the contracts has its callers', () => {
    expect(Object.keys(CALLERS).sort()).toEqual(endpoints.map(({ subject }) => subject).sort());
  });

  test.each(endpoints.map((endpoint) => [endpoint.subject, endpoint] as const))(
    '%s answers only its callers, and refuses others at once',
    async (subject, endpoint) => {
      const outcomes = await Promise.all(
        [...callers].map(async ([user, messaging]) => [
          user,
          await messaging.request(endpoint, {}, { timeoutMs: 60_000 }).catch((error: MessagingError) => error.message),
        ]),
      );
      const refused = (user: User): string => `Publishing to ${subjectFor(user, endpoint)} is not permitted.`;
      expect(Object.fromEntries(outcomes)).toEqual(
        Object.fromEntries(USERS.map((user) => [user, CALLERS[subject]?.includes(user) ? subject : refused(user)])),
      );
    },
  );

  test('no user may publish to the subject of another for a recorded endpoint [sec-caller]', async () => {
    const recorded = [...endpoints, ...streams].filter(({ isRecorded }) => isRecorded);
    const attempts = recorded.flatMap((endpoint) => USERS.map((user) => ({ user, subject: subjectFor(user, endpoint) })));
    const permitted: unknown[] = [];
    for (const user of USERS) {
      const connection: NatsConnection = await connect({ servers: server.url, user, pass: makePassword(user), reconnect: false });
      const refused = new Set<string>();
      void (async () => {
        for await (const { permissionContext } of connection.status() as AsyncIterable<{ permissionContext?: { subject: string } }>)
          if (permissionContext) refused.add(permissionContext.subject);
      })();
      const ofOthers = attempts.filter((one) => one.user !== user).map(({ subject }) => subject);
      for (const subject of ofOthers) connection.publish(subject, '{}', { reply: `_INBOX.${user}.none.c1` });
      await connection.flush();
      await eventually(() => refused.size === ofOthers.length).catch(() => undefined);
      permitted.push(...ofOthers.filter((subject) => !refused.has(subject)).map((subject) => ({ user, subject })));
      await connection.close();
    }
    expect(permitted).toEqual([]);
  });

  test.each(endpoints.filter((endpoint) => endpoint instanceof ReplicaEndpoint).map((endpoint) => [endpoint.subject, endpoint] as const))(
    'one replica of %s answers only the callers of all replicas',
    async (subject, endpoint) => {
      const request = (messaging: NatsMessaging) =>
        messaging.request(endpoint.at('one'), {}, { timeoutMs: 60_000 }).catch(({ message }: MessagingError) => message);
      const outcomes = await Promise.all([...callers].map(async ([user, messaging]) => [user, await request(messaging)]));
      const refused = `Publishing to ${subject}.one is not permitted.`;
      expect(Object.fromEntries(outcomes)).toEqual(
        Object.fromEntries(USERS.map((user) => [user, CALLERS[subject]?.includes(user) ? subject : refused])),
      );
    },
  );

  test.each(streams.map((endpoint) => [endpoint.subject, endpoint] as const))(
    '%s streams only to its readers',
    async (subject, endpoint) => {
      const outcomes = await Promise.all(
        [...callers].map(async ([user, messaging]) => {
          let events = 0;
          try {
            for await (const batch of messaging.openStream(endpoint, {})) events += batch.length;
            return [user, events];
          } catch (error) {
            return [user, (error as MessagingError).message];
          }
        }),
      );
      const refused = (user: User): string => `Publishing to ${subjectFor(user, endpoint)} is not permitted.`;
      expect(Object.fromEntries(outcomes)).toEqual(
        Object.fromEntries(USERS.map((user) => [user, READERS[subject]?.includes(user) ? 200 : refused(user)])),
      );
    },
  );

  test('a request of 8 MB reaches the inference-proxy', async () => {
    const request = { text: 'x'.repeat(8 * 1024 * 1024) } as unknown as inference.GenerateRequest;
    let events = 0;
    for await (const batch of (callers.get('gateway') as NatsMessaging).openStream(inference.generate, request)) events += batch.length;
    expect(events).toBe(200);
  });

  test('a catalog of 2 MB reaches the catalog', async () => {
    const request = { yaml: 'x'.repeat(2_000_000) };
    expect(await (callers.get('cli') as NatsMessaging).request(catalog.catalogApply, request)).toBe('catalog.v1.catalog.apply');
  });

  test('a body of 8 MB to estimate reaches the gateway', async () => {
    const request = { protocol: 'chat' as const, body: 'x'.repeat(8 * 1024 * 1024) };
    expect(await (callers.get('cli') as NatsMessaging).request(requestEstimate, request)).toBe('gateway.v1.request.estimate');
  });

  test.each(topics.map((topic) => [topic.subject, topic] as const))(
    '%s reaches its receivers, only from its owner',
    async (subject, topic) => {
      const [area] = subject.split('.');
      const owner = (area === 'inference' ? 'inference-proxy' : area) as User;
      const listeners: User[] = [...(CACHES[subject] ?? []), 'panel', 'internal'];
      const heard: unknown[] = [];
      // The owner may subscribe to all of its subjects, so it is left out.
      const stops = USERS.filter((user) => user !== owner).map((user) =>
        subscribe(findConnection(user), subject, (message) => heard.push({ user, event: decodeJson(message.data) })),
      );
      await Promise.all([...callers.values()].map(({ link }) => link.connection.flush()));
      for (const user of USERS) findConnection(user).publish(topic.subject, JSON.stringify({ user }));
      await eventually(() => heard.length >= listeners.length);
      await Promise.all([...callers.values()].map(({ link }) => link.connection.flush()));
      expect(heard).toHaveLength(listeners.length);
      expect(heard).toEqual(expect.arrayContaining(listeners.map((user) => ({ user, event: { user: owner } }))));
      for (const stop of stops) stop();
    },
  );

  test.each(['_INBOX.>', '>', 'billing.v1.>', '$SYS.>', '$JS.API.>'])('only its owner can listen to %s', async (subject) => {
    for (const user of USERS) {
      const connection: NatsConnection = await connect({ servers: server.url, user, pass: makePassword(user), reconnect: false });
      const refused = new Promise<boolean>((resolve) => {
        connection.subscribe(subject, { callback: (error) => error !== null && resolve(true) });
      });
      const allowed = connection.flush().then(() => false);
      expect({ user, refused: await Promise.race([refused, allowed]) }).toEqual({
        user,
        refused: !(user === 'billing' && subject === 'billing.v1.>'),
      });
      await connection.close();
    }
  });

  describe('with read permission only', () => {
    const OWNERS = [
      ['catalog', 'catalog.v1.model.list', '{}'],
      ['billing', 'billing.v1.usage.query', '{}'],
    ] as const;
    let reader: NatsConnection;

    beforeEach(async () => {
      reader = await connect({ servers: server.url, user: 'internal', pass: makePassword('internal'), inboxPrefix: '_INBOX.internal' });
    });
    afterEach(() => reader.close());

    /** Messages on a subject of events during `attack`. */
    async function heardDuring(subject: string, attack: () => Promise<unknown>): Promise<string[]> {
      const heard: string[] = [];
      reader.subscribe(subject, { callback: (_error, message) => heard.push(`${message.subject} ${message.reply}: ${message.string()}`) });
      await attack();
      await reader.flush();
      return heard;
    }

    test.each(OWNERS)('cannot have %s publish events by a reply subject', async (owner, subject, body) => {
      const event = `${owner}.v1.event.changed`;
      const attack = async (): Promise<void> => {
        reader.publish(subject, body, { reply: event });
        await reader.request(subject, body, { timeout: 5_000 }); // answered after the request before it
      };
      expect(await heardDuring(`${owner}.v1.event.*`, attack)).toEqual([]);
    });

    test.each(OWNERS)(
      'cannot have %s publish events, or to the inbox of another, by the subject of a large payload',
      async (owner, subject) => {
        const attack = async (): Promise<void> => {
          for (const from of [`${owner}.v1.event.changed`, '_INBOX.gateway.0123456789abcdef01234567.c1', '_INBOX.internal.elsewhere.1']) {
            const announcement = headers();
            announcement.set('Tollgate-Payload-Bytes', '2000000');
            announcement.set('Tollgate-Payload-From', from);
            const reply = await reader.request(subject, '', { headers: announcement, timeout: 5_000 });
            expect(reply.json()).toEqual({
              code: 'invalid_request',
              message: 'A large payload must be offered in the inbox that the reply goes to.',
            });
          }
        };
        expect(await heardDuring(`${owner}.v1.event.*`, attack)).toEqual([]);
      },
    );
  });

  describe('with permission to answer only', () => {
    /** Subjects of what a policy may not do, by what it tries. */
    const FORBIDDEN = {
      publish: [
        'gateway.v1.event.requests-ended',
        '_INBOX.gateway.0123456789abcdef01234567.c1',
        'billing.v1.balance.get',
        'policy.v1.decide.pii',
      ],
      subscribe: ['policy.v1.>', '_INBOX.gateway.>', 'inference.v1.generate', '$SRV.PING', '>'],
    };

    test.each([
      ...FORBIDDEN.publish.map((subject) => ['publish', subject] as const),
      ...FORBIDDEN.subscribe.map((subject) => ['subscription', subject] as const),
    ])('a policy has no right of %s to %s', async (operation, subject) => {
      const connection = await connect({ servers: server.url, user: 'policy', pass: POLICY_PASSWORD, reconnect: false });
      const refusal = (async () => {
        for await (const { permissionContext } of connection.status() as AsyncIterable<{ permissionContext?: object }>)
          if (permissionContext) return permissionContext;
        return undefined;
      })();
      if (operation === 'publish') connection.publish(subject);
      else connection.subscribe(subject, { callback: () => undefined });
      expect(await refusal).toMatchObject({ operation, subject });
      await connection.close();
    });

    test('a policy answers a question once, and only while it is asked', async () => {
      const asker = await connect({ servers: server.url, user: 'gateway', pass: makePassword('gateway'), reconnect: false });
      const questions: Msg[] = [];
      const subscription = policy.subscribe('policy.v1.decide.once', { callback: (_, message) => void questions.push(message) });
      await policy.flush();
      const inbox = '_INBOX.gateway.asker.once';
      const heard: string[] = [];
      const stop = subscribe(asker, inbox, (message) => heard.push(Buffer.from(message.data).toString()));
      asker.publish('policy.v1.decide.once', '{}', { reply: inbox });
      await eventually(() => questions.length === 1);
      for (const word of ['first', 'second', 'third']) questions[0]?.respond(word);
      await policy.flush();
      await asker.flush();
      expect(heard).toEqual(['first']);
      stop();
      subscription.unsubscribe();
      await asker.close();
    });
  });

  test('the cli discovers every service', async () => {
    const connection = await connect({ servers: server.url, user: 'cli', pass: makePassword('cli'), inboxPrefix: '_INBOX.cli' });
    const names: string[] = [];
    for await (const { name } of await connection.services.client({ strategy: RequestStrategy.Timer, maxWait: 300 }).ping())
      names.push(name);
    expect(names.sort()).toEqual(['billing', 'catalog', 'gateway', 'inference-proxy', 'panel', 'payments']);
    await connection.close();
  });

  test('every stream of the contracts has its reader', () => {
    expect(Object.keys(READERS)).toEqual(streams.map(({ subject }) => subject));
  });
});

describe('as an internal service', () => {
  const forServices = endpoints.filter(({ isForServices }) => isForServices);
  let service: NatsConnection;
  let refused: string[];

  beforeAll(async () => {
    const credentials = { user: 'crawler', pass: 'secret-of-crawler', inboxPrefix: '_INBOX.service.crawler' };
    service = await connect({ servers: server.url, ...credentials, reconnect: false });
    refused = [];
    void (async () => {
      for await (const { permissionContext } of service.status() as AsyncIterable<{ permissionContext?: { subject: string } }>)
        if (permissionContext) refused.push(permissionContext.subject);
    })();
    await eventually(() => services.every(({ connected }) => connected));
  });
  afterAll(() => service.close());

  test.each(forServices.map((endpoint) => [endpoint.subject, endpoint] as const))(
    '%s answers on its own subject',
    async (subject, endpoint) => {
      const reply = await service.request(subjectFor('crawler', endpoint), '{}', { timeout: 10_000 });
      expect(reply.json()).toBe(subject);
    },
  );

  test('it may publish to no subject of another service, and to none of Tollgate’s own', async () => {
    const others = forServices.flatMap((endpoint) => [endpoint.subject, subjectFor('gpu', endpoint), subjectFor('cli', endpoint)]);
    const subjects = [...others, ...endpoints.filter(({ isForServices }) => !isForServices).map(({ subject }) => subject)];
    for (const subject of subjects) service.publish(subject, '{}', { reply: '_INBOX.service.crawler.x' });
    await service.flush();
    await eventually(() => new Set(refused).size >= subjects.length).catch(() => undefined);
    expect([...new Set(refused)].sort()).toEqual([...subjects].sort());
  });

  test('a request with the inbox of another gets no answer there', async () => {
    const heard: string[] = [];
    const reader: NatsConnection = await connect({
      servers: server.url,
      user: 'internal',
      pass: makePassword('internal'),
      inboxPrefix: '_INBOX.internal',
    });
    reader.subscribe('_INBOX.internal.>', { callback: (_error, message) => heard.push(message.subject) });
    await reader.flush();
    const [endpoint] = forServices;
    if (!endpoint) throw new Error('there is no endpoint for services');
    service.publish(subjectFor('crawler', endpoint), '{}', { reply: '_INBOX.internal.stolen' });
    await service.request(subjectFor('crawler', endpoint), '{}', { timeout: 10_000 }); // answered after the request before it
    await reader.flush();
    expect(heard).toEqual([]);
    await reader.close();
  });
});

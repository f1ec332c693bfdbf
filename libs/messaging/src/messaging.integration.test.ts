import { Controller, type INestMicroservice } from '@nestjs/common';
import { connect, headers, type NatsConnection } from 'nats';
import { COMMIT, VERSION } from '#config/version.js';
import { Topic } from '#contracts/endpoint.js';
import { RevisionChanged } from '#contracts/revisions.js';
import { ServiceError } from '#contracts/service-error.js';
import type { Logger } from '#observability/logger.js';
import { startNatsServer, type TestNatsServer } from '#testing/nats-server.js';
import { Connections, double, echo, eventually, makeCalculator, rollCall, serve, TextRequest, whoIs } from '../testing/test-services.js';
import { MessagingError } from './messaging.js';
import { Serves } from './serves.js';

let server: TestNatsServer;
let raw: NatsConnection;
const connections = new Connections(() => server.url);

beforeAll(async () => {
  server = await startNatsServer();
});

beforeEach(async () => {
  raw = await connect({ servers: server.url, reconnect: false });
});

afterEach(async () => {
  await connections.closeAll();
  await raw.close();
});

afterAll(() => server.stop());

const PARAGRAPH = 'ä'.repeat(2_000_000);
const { Calculator, seen, release } = makeCalculator();

async function start(logger?: Logger, options: { resumeMs?: number } = {}) {
  const service = await connections.connect('test', options);
  const app = await serve(service, [Calculator], { logger });
  const caller = await connections.connect('caller', options);
  return { app, service, caller };
}

describe('a request', () => {
  test('is plain JSON on its subject, from any client', async () => {
    await start();
    const reply = await raw.request(double.subject, '{"count":21,"unknown":true}');
    expect({ body: reply.string(), headers: reply.headers }).toEqual({ body: '{"doubled":42}', headers: undefined });
  });

  test('returns the whole typed error, also in headers', async () => {
    const { caller } = await start();
    await expect(caller.request(double, { count: 13 })).rejects.toEqual(
      new ServiceError('conflict', 'Not that one.\nReally not.', 'count'),
    );
    const reply = await raw.request(double.subject, '{"count":13}');
    expect(Object.fromEntries([...(reply.headers ?? [])].map(([name, [value]]) => [name, value]))).toEqual({
      'Nats-Service-Error-Code': '409',
      'Nats-Service-Error': 'Not that one. Really not.',
      'Tollgate-Error-Code': 'conflict',
      'Tollgate-Error-Param': 'count',
    });
  });

  test('that is not JSON is refused', async () => {
    await start();
    const reply = await raw.request(double.subject, '{"count":');
    expect(reply.json()).toEqual({ code: 'invalid_json', message: 'The request is not JSON.' });
  });

  test('is not handled after its deadline', async () => {
    await start();
    seen.length = 0;
    const late = headers();
    late.set('Tollgate-Timeout-Ms', '0');
    const reply = await raw.request(double.subject, '{"count":1}', { timeout: 1_000, headers: late });
    expect(reply.json()).toEqual({ code: 'unavailable', message: 'The deadline passed before the work began.' });
    expect(seen).toEqual([]);
  });

  test('of 8 MB passes a server that allows 1 MB, and so does its reply', async () => {
    const { caller } = await start();
    const text = PARAGRAPH.repeat(2);
    expect(Buffer.byteLength(text)).toBe(8_000_000);
    expect((await caller.request(echo, { text })).text === text).toBe(true);
  });

  test('above the limit is refused, and so is a reply', async () => {
    const service = await connections.connect('test', { payloadBytesMax: 3_000_000 });
    await serve(service, [Calculator]);
    const caller = await connections.connect('caller');
    await expect(caller.request(echo, { text: PARAGRAPH })).rejects.toEqual(
      new ServiceError('request_too_large', 'The request exceeds 3000000 bytes.'),
    );
    const narrow = await connections.connect('narrow', { payloadBytesMax: 1_000_000 });
    await expect(narrow.request(echo, { text: 'x'.repeat(2_000_000) })).rejects.toMatchObject({ kind: 'broken' });
  });
});

describe('a connection', () => {
  test('that is lost without resumption fails running calls, refuses new calls, and recovers', async () => {
    const { caller, service } = await start(undefined, { resumeMs: 0 });
    const reconnected = new Promise<void>((resolve) => caller.onReconnect(resolve));
    const pending = caller.request(double, { count: 15 });
    pending.catch(() => undefined);
    await caller.request(double, { count: 1 });
    await server.kill();
    await expect(pending).rejects.toMatchObject({ kind: 'broken' });
    await expect(caller.request(double, { count: 1 })).rejects.toMatchObject({ kind: 'unavailable' });
    await server.restart();
    await reconnected;
    await eventually(() => service.connected);
    await service.link.connection.flush();
    expect(await caller.request(double, { count: 5 })).toEqual({ doubled: 10 });
    release();
  });

  test('of subscribers with the same queue, one receives each event; every other subscriber receives it too', async () => {
    const topic = new Topic('test.v1.event.shared', RevisionChanged, 'Something changed');
    const heard: string[] = [];
    const names = ['one', 'two', 'alone'];
    for (const name of names) {
      const subscriber = await connections.connect(name);
      const options = name === 'alone' ? {} : { queue: 'recorders' };
      subscriber.subscribe(topic, ({ revision }) => heard.push(`${name === 'alone' ? 'alone' : 'queue'} ${revision}`), options);
      await subscriber.link.connection.flush();
    }
    const publisher = await connections.connect('publisher');
    const revisions = Array.from({ length: 20 }, (_, at) => at + 1);
    for (const revision of revisions) publisher.publish(topic, { revision });
    const expected = revisions.flatMap((revision) => [`alone ${revision}`, `queue ${revision}`]).sort();
    await eventually(() => heard.length >= expected.length);
    expect(heard.sort()).toEqual(expected);
  });

  test('receives valid events before and after a server restart', async () => {
    const topic = new Topic('test.v1.event.changed', RevisionChanged, 'Something changed');
    const [publisher, subscriber] = await Promise.all([connections.connect('publisher'), connections.connect('subscriber')]);
    const events: RevisionChanged[] = [];
    const stop = subscriber.subscribe(topic, (event) => {
      events.push(event);
      if (event.revision === 2) throw new Error('handler failure');
    });
    await subscriber.link.connection.flush();
    publisher.publish(topic, { revision: 1 });
    for (const wrong of ['0', 'null', '{}', '{"revision":"9"}', '{"revision":1e300}', '{"revision":-1}', 'no JSON'])
      raw.publish(topic.subject, wrong);
    await raw.flush();
    publisher.publish(topic, { revision: 2 });
    await eventually(() => events.length === 2);
    await server.restart();
    await eventually(() => publisher.connected && subscriber.connected);
    await eventually(() => {
      publisher.publish(topic, { revision: 3 });
      return events.length > 2;
    });
    expect(events.slice(0, 3)).toEqual([{ revision: 1 }, { revision: 2 }, { revision: 3 }]);
    stop();
  });
});

describe('service discovery', () => {
  const ask = async (verb: string): Promise<unknown> => (await raw.request(`$SRV.${verb}.test`, '', { timeout: 2_000 })).json();

  test('answers before and after a server restart', async () => {
    const { service, caller } = await start();
    const info = {
      type: 'io.nats.micro.v1.info_response',
      name: 'test',
      id: expect.any(String),
      version: VERSION,
      description: 'A service of a test',
      metadata: { commit: COMMIT, node: process.version },
      endpoints: [
        {
          subject: 'test.v1.count.double',
          name: 'test-v1-count-double',
          queue_group: 'test',
          metadata: { description: 'Doubles a number', kind: 'reply' },
        },
        {
          subject: 'test.v1.text.echo',
          name: 'test-v1-text-echo',
          queue_group: 'test',
          metadata: { description: 'Says it again', kind: 'reply' },
        },
      ],
    };
    expect(await ask('INFO')).toEqual(info);
    await server.restart();
    await eventually(() => service.connected && caller.connected);
    await service.link.connection.flush();
    await raw.close();
    raw = await connect({ servers: server.url, reconnect: false });
    expect(await ask('INFO')).toEqual(info);
    expect(await ask('PING')).toMatchObject({ name: 'test', version: VERSION });
  });

  test('counts requests and failures', async () => {
    const { caller } = await start();
    await caller.request(double, { count: 1 });
    await caller.request(double, { count: 13 }).catch(() => undefined);
    expect(await ask('STATS')).toMatchObject({
      endpoints: [
        { subject: 'test.v1.count.double', num_requests: 2, num_errors: 1, data: { running: 0, completed: 2, failed: 1 } },
        { subject: 'test.v1.text.echo', num_requests: 0, num_errors: 0, data: { running: 0, completed: 0, failed: 0 } },
      ],
    });
  });
});

describe('a request for every replica', () => {
  /** Starts a replica that answers with its name, or fails. */
  async function startReplica(name: string, failure?: Error): Promise<void> {
    @Controller()
    class Replica {
      @Serves(rollCall) async answer({ text }: TextRequest): Promise<{ name: string }> {
        if (failure !== undefined) throw failure;
        return { name: text === 'long' ? `${name} ${PARAGRAPH}` : name };
      }
    }
    await serve(await connections.connect('test'), [Replica]);
  }

  test('gets an answer of each, also large ones', async () => {
    for (const name of ['one', 'two', 'three']) await startReplica(name);
    const caller = await connections.connect('caller');
    const lengths = async (text: string) => (await caller.requestEvery(rollCall, { text })).map(({ name }) => name.length).sort();
    expect(await lengths('short')).toEqual([3, 3, 5]);
    expect(await lengths('long')).toEqual([3, 3, 5].map((length) => length + 1 + PARAGRAPH.length));
  });

  test('leaves out failed replicas, unless all fail', async () => {
    const failure = new ServiceError('unavailable', 'Not now.');
    await startReplica('ill', failure);
    const caller = await connections.connect('caller');
    await expect(caller.requestEvery(rollCall, { text: '' })).rejects.toEqual(failure);
    await startReplica('well');
    expect(await caller.requestEvery(rollCall, { text: '' })).toEqual([{ name: 'well' }]);
  });

  test('without a listener fails at once', async () => {
    const caller = await connections.connect('caller');
    await expect(caller.requestEvery(rollCall, { text: '' }, { timeoutMs: 60_000 })).rejects.toEqual(
      new MessagingError('unavailable', 'No service listens on test.v1.roll.call.'),
    );
  });

  test('without an answer times out', async () => {
    raw.subscribe(rollCall.subject);
    await raw.flush();
    const caller = await connections.connect('caller');
    await expect(caller.requestEvery(rollCall, { text: '' }, { timeoutMs: 50 })).rejects.toEqual(
      new MessagingError('timeout', 'No answer from test.v1.roll.call in time.'),
    );
  });
});

describe('a request to one replica', () => {
  async function startReplica(replicaId: string): Promise<INestMicroservice> {
    @Controller()
    class Replica {
      @Serves(whoIs) async answer(): Promise<{ name: string }> {
        return { name: replicaId };
      }
    }
    return await serve(await connections.connect('test'), [Replica], { replicaId });
  }

  test('is answered by that replica', async () => {
    for (const replicaId of ['one', 'two']) await startReplica(replicaId);
    const caller = await connections.connect('caller');
    const names = await Promise.all(
      ['one', 'two', 'one', 'two'].map(async (id) => (await caller.request(whoIs.at(id), { text: '' })).name),
    );
    expect(names).toEqual(['one', 'two', 'one', 'two']);
  });

  test('fails at once when the replica has stopped, while another one answers the common subject', async () => {
    const stopped = await startReplica('one');
    await startReplica('two');
    await stopped.close();
    const caller = await connections.connect('caller');
    await expect(caller.request(whoIs.at('one'), { text: '' }, { timeoutMs: 60_000 })).rejects.toEqual(
      new MessagingError('unavailable', 'No service listens on test.v1.who.is.one.'),
    );
    expect(await caller.request(whoIs, { text: '' })).toEqual({ name: 'two' });
  });
});

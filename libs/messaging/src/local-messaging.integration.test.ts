import { Controller } from '@nestjs/common';
import { startNatsServer, type TestNatsServer } from '#testing/nats-server.js';
import { Connections, CountRequest, countUp, double, rollCall, serve, TextRequest, whoIs } from '../testing/test-services.js';
import { LocalExchange } from './local-exchange.js';
import { LocalMessaging } from './local-messaging.js';
import { Serves } from './serves.js';

let server: TestNatsServer;
const connections = new Connections(() => server.url);

beforeAll(async () => {
  server = await startNatsServer();
});

afterEach(() => connections.closeAll());

afterAll(() => server.stop());

const requests: CountRequest[] = [];

@Controller()
class Calculator {
  @Serves(double) double(request: CountRequest): { doubled: number } {
    requests.push(request);
    return { doubled: 2 * request.count };
  }

  @Serves(countUp) async *count({ count }: CountRequest): AsyncIterable<readonly number[]> {
    yield Array.from({ length: count }, (_, index) => index + 1);
  }
}

test('a call and a stream within the process send no message', async () => {
  const { service, caller, callerConnection } = await connections.startLocalPair([Calculator]);
  const both = [service, callerConnection];
  await Promise.all(both.map(({ link }) => link.connection.flush()));
  const sent = () => both.map(({ link }) => link.connection.stats().outMsgs);
  const before = sent();
  const counted: unknown[] = [await caller.request(double, { count: 2 })];
  for await (const batch of caller.openStream(countUp, { count: 3 })) counted.push(batch);
  expect({ counted, sent: sent() }).toEqual({ counted: [{ doubled: 4 }, [1, 2, 3]], sent: before });
});

test('a handler gets a copy of the request', async () => {
  const { caller } = await connections.startLocalPair([Calculator]);
  requests.length = 0;
  const request = { count: 5 };
  await caller.request(double, request);
  expect(requests).toEqual([request]);
  expect(requests[0]).not.toBe(request);
});

test('a service that has stopped here is called over NATS at another replica', async () => {
  const { app, caller } = await connections.startLocalPair([Calculator]);
  await serve(await connections.connect('test'), [Calculator]);
  await app.close();
  expect(await caller.request(double, { count: 4 })).toEqual({ doubled: 8 });
});

describe('replicas', () => {
  /** Starts the replicas `here`, in the caller's process, and `elsewhere`. */
  async function startReplicas(): Promise<LocalMessaging> {
    const exchange = new LocalExchange();
    for (const replicaId of ['here', 'elsewhere']) {
      @Controller()
      class Replica {
        @Serves(whoIs) who(_request: TextRequest): { name: string } {
          return { name: replicaId };
        }

        @Serves(rollCall) answer(_request: TextRequest): { name: string } {
          return { name: replicaId };
        }
      }
      const isHere = replicaId === 'here';
      await serve(await connections.connect('test'), [Replica], { replicaId, ...(isHere && { exchange }) });
    }
    return new LocalMessaging(await connections.connect('caller'), { exchange, service: 'caller' });
  }

  test('a request to one replica reaches it, here or elsewhere; any other is answered here', async () => {
    const caller = await startReplicas();
    const asked = await Promise.all([whoIs.at('elsewhere'), whoIs.at('here'), whoIs].map((one) => caller.request(one, { text: '' })));
    expect(asked).toEqual([{ name: 'elsewhere' }, { name: 'here' }, { name: 'here' }]);
  });

  test('a request for every replica reaches all of them', async () => {
    const caller = await startReplicas();
    const answers = await caller.requestEvery(rollCall, { text: '' });
    expect(answers.map(({ name }) => name).sort()).toEqual(['elsewhere', 'here']);
  });
});

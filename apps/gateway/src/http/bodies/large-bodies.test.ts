import { once } from 'node:events';
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { FakeServices, TEST_MODEL } from '#testing/fake-services.js';
import { leastMs } from '#testing/least-ms.js';
import { longestTurnMs, measureCpuMs } from '#testing/longest-turn.js';
import { type Answer, JSON_TYPE, KEY, readError, readText, startTestGateway, until } from '../../../test/test-gateway.js';
import { ADAPTERS } from '../../protocols/adapters.js';
import { protocolAt, ROUTES } from '../routes.js';
import { parseJson } from './parse-json.js';
import { parseLargeBody } from './parse-large-body.js';

/** Bodies that worker threads parse. The result equals that of the main thread, without blocking it. */

const LONG_TEXT = 'A long story. '.repeat(25_000);

const fakes = new FakeServices();
fakes.models = [{ ...TEST_MODEL, contextTokens: 10_000_000 }];
const gateway = await startTestGateway({}, fakes);
await post('/v1/chat/completions', chatBody({ role: 'user', content: LONG_TEXT })); // the thread has started
beforeEach(() => {
  for (const record of [gateway.fakes.opened, gateway.fakes.reserves]) record.length = 0;
});
afterAll(() => gateway.close());

const ECHOED = { tools: [{ type: 'function', name: 'f', parameters: { type: 'object', description: LONG_TEXT } }], metadata: { a: 'b' } };

function chatBody(...messages: object[]): string {
  return JSON.stringify({ model: 'test-model', messages });
}

function post(path: string, body: string): Promise<Answer> {
  return gateway.ask(path, { headers: { ...KEY, ...JSON_TYPE }, body });
}

const BODIES: [path: keyof typeof ROUTES, body: object][] = [
  ['chatCompletions', { messages: [{ role: 'user', content: LONG_TEXT }], stream: true, stream_options: { include_usage: true } }],
  ['responses', { input: 'Hi', ...ECHOED }],
  ['responses', { input: 'Hi', ...ECHOED, stream: true }],
  ['messages', { messages: [{ role: 'user', content: LONG_TEXT }], max_tokens: 10, thinking: { type: 'enabled' } }],
];

test.each(BODIES)('%s: the request, its hold and the reply equal those of the main thread', async (route, body) => {
  const { path } = ROUTES[route];
  const text = JSON.stringify({ model: 'test-model', ...body });
  const answer = await post(path, text);
  const adapter = ADAPTERS[protocolAt(path) as keyof typeof ADAPTERS];
  const { request } = adapter.parseRequest(parseJson(Buffer.from(text)));
  expect(gateway.fakes.opened.map((work) => work.request)).toEqual([JSON.parse(JSON.stringify(request))]);

  const padded = `${text.slice(0, -1)},"ignored":[${'0,'.repeat(11_000)}0]}`; // few bytes, but many values
  const small = JSON.stringify({
    ...JSON.parse(text),
    ...(route === 'responses' ? { tools: [] } : { messages: [{ role: 'user', content: 'Hi' }] }),
  });
  const [again, withoutWorker] = [await post(path, padded), await post(path, small)];
  const [large, largeAgain, little] = gateway.fakes.reserves.map(({ amountPicoUsd }) => BigInt(amountPicoUsd));
  expect(largeAgain).toBe(large);
  expect(large).toBeGreaterThan(little as bigint);
  expect([answer.status, describeShape(answer)]).toEqual([200, describeShape(again)]);
  expect(withoutWorker.status).toBe(200);
  if (route === 'responses' && !('stream' in body)) expect(JSON.parse(answer.text)).toMatchObject(ECHOED);
});

/** Returns a reply without its id and times. */
function describeShape({ text }: Answer): string {
  return text.replace(/[0-9a-f]{32}/g, 'id').replace(/"(created|created_at|completed_at)":\d+/g, '"$1":0');
}

test('count_tokens counts a large body as it counts a small one', async () => {
  const count = async (content: string): Promise<number> => {
    const answer = await post('/v1/messages/count_tokens', JSON.stringify({ model: 'test-model', messages: [{ role: 'user', content }] }));
    return JSON.parse(answer.text).input_tokens;
  };
  expect((await count('x'.repeat(1_000_000))) - (await count('x'.repeat(100_000)))).toBe(900_000 / 4);
});

test.each([
  [
    'JSON',
    `${chatBody({ role: 'user', content: LONG_TEXT })}]`,
    'invalid_json',
    null,
    'Unexpected non-whitespace character after JSON at position',
  ],
  ['a field', chatBody({ role: 'user', content: LONG_TEXT }, { role: 'unknown' }), 'invalid_request', 'messages[1].role', 'must be one of'],
])('an invalid large body gets the error of an invalid small one: %s [limit-values]', async (_name, body, code, param, message) => {
  const answer = await post('/v1/chat/completions', body);
  expect([answer.status, readError(answer)]).toEqual([
    400,
    { message: expect.stringContaining(message), type: 'invalid_request_error', param, code },
  ]);
  expect(gateway.fakes.reserves).toEqual([]);
});

test('bodies of disconnected clients are dropped, both during parsing and while waiting', async () => {
  const silent = await startTestGateway({}, new FakeServices(), () => {
    return new Worker("require('node:worker_threads').parentPort.on('message', () => undefined)", { eval: true });
  });
  const send = async (): Promise<ClientRequest> => {
    const request = httpRequest({ port: silent.port, path: '/v1/chat/completions', method: 'POST', headers: { ...KEY, ...JSON_TYPE } });
    request.on('error', () => undefined).end(chatBody({ role: 'user', content: LONG_TEXT }));
    return request;
  };
  const gauge = async (name: string): Promise<number> => {
    await delay(2);
    return Number(new RegExp(`^tollgate_gateway_${name} (\\d+)$`, 'm').exec(await silent.registry.metrics())?.[1]);
  };
  const [first, second] = [await send(), await send()];
  while ((await gauge('bodies_waiting')) !== 1);
  first.destroy();
  second.destroy();
  while ((await gauge('bodies_waiting')) !== 0 || (await gauge('body_bytes_in_flight')) !== 0);
  await until(() => silent.logged.filter(({ status }) => status === 499).length === 2);
  expect(silent.fakes.reserves).toEqual([]);
  await silent.close();
});

const many = (count: number, item: (index: number) => string): string => Array.from({ length: count }, (_, index) => item(index)).join();
const functionTool = (parameters: string): string => `{"type":"function","function":{"name":"f","parameters":${parameters}}}`;

/** User time of one garbage collection within a turn, also on a loaded machine. */
const TURN_MS = 20;

const HOSTILE: [name: string, fields: string][] = [
  ['numbers beyond a double', `"x":[${many(900_000, () => '1e9999')}]`],
  ['long numbers', `"tools":[${functionTool(`{"enum":[${many(99_000, (index) => `123456789012345678${index}`)}]}`)}]`],
  ['an enum of a schema', `"tools":[${functionTool(`{"enum":[${many(99_000, (index) => `"${index}th"`)}]}`)}]`],
  ['different names of fields', `"tools":[${functionTool(`{"enum":[${many(19_900, (index) => `{"name ${index}":1}`)}]}`)}]`],
  ['tools', `"tools":[${many(90_000, (index) => `{"type":"function","function":{"name":"f${index}"}}`)}]`],
  ['fields', `"x":{${many(500_000, (index) => `"k${index}":1`)}}`],
  ['escapes', `"user":"${'\\"'.repeat(3_900_000)}"`],
  ['no JSON', `"user":"${'\\n'.repeat(3_900_000)}\\x"`],
];

test.each(HOSTILE)('the event loop is not blocked by a body of %s [limit-stall]', async (_name, fields) => {
  // A model that does not exist: the request ends when it has been parsed.
  const body = Buffer.from(`{"model":"none","messages":[{"role":"user","content":"Hi"}],${fields}}`);
  const send = async (): Promise<void> => {
    const request = httpRequest({ port: gateway.port, path: '/v1/chat/completions', method: 'POST', headers: { ...KEY, ...JSON_TYPE } });
    // Written in pieces, so that writing does not block the event loop of this test.
    for (let at = 0; at < body.length; at += 65_536) if (!request.write(body.subarray(at, at + 65_536))) await once(request, 'drain');
    request.end();
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    await readText(response);
  };
  const turnMs = await leastMs(TURN_MS, () => longestTurnMs(send));
  // Last, because its garbage would be collected during a turn.
  const parseMs = measureCpuMs(() => attempt(() => parseLargeBody('chat', Buffer.from(body))));
  expect(turnMs).toBeLessThan(Math.max(parseMs / 3, TURN_MS));
});

function attempt(work: () => unknown): void {
  try {
    work();
  } catch {
    // refused, after all that was to be measured
  }
}

import { balanceGet } from '#contracts/billing/money.js';
import { ownKeyRequest, ownKeyShow, ownKeyUsage } from '#contracts/billing/own-key.js';
import { receiptKeys } from '#contracts/billing/receipts.js';
import { TEST_KEY } from '#testing/fake-services.js';
import { type Answer, CHAT, CHAT_BODY, JSON_TYPE, KEY, readText, startTestGateway, type TestGateway } from '../../../test/test-gateway.js';
import { ROUTES, type Route } from '../routes.js';

let gateway: TestGateway;
beforeEach(async () => {
  gateway = await startTestGateway();
});
afterEach(() => gateway.close());

const PUBLIC = [ROUTES.openapi, ROUTES.root, ROUTES.livez, ROUTES.readyz, ROUTES.receiptKeys].map(({ path }): string => path);
/** `cache-control` of public replies. */
const CACHING: Record<string, string> = { [ROUTES.openapi.path]: 'no-cache', [ROUTES.receiptKeys.path]: 'no-store' };
const GENERATION = [ROUTES.chatCompletions, ROUTES.responses, ROUTES.messages].map(({ path }): string => path);
const BODY = { ...CHAT_BODY, input: 'Hi', max_tokens: 10 };

const ask = ({ method, path }: Route, headers: Record<string, string>): Promise<Answer> => {
  const body = method === 'POST' ? BODY : undefined;
  return gateway.ask(path.replace(':id', 'test-model'), { method, headers: { ...JSON_TYPE, ...headers }, body });
};
const readHeaders = ({ status, headers }: Answer) => [status, headers['x-content-type-options'], headers['cache-control']];

test.each(Object.values<Route>(ROUTES).map((route) => [route.path, route] as const))(
  '%s: a reply and a refusal are neither sniffed nor stored [sec-reply-headers]',
  async (path, route) => {
    const { messaging } = gateway.fakes;
    // The renderers need more than an empty object of some: their failure is a reply too.
    for (const endpoint of [balanceGet, ownKeyShow, ownKeyUsage, ownKeyRequest, receiptKeys])
      messaging.answer(endpoint as typeof balanceGet, () => ({}) as never);
    const isPublic = PUBLIC.includes(path);
    const [answered, refused, wrongMethod] = await Promise.all([
      ask(route, KEY),
      ask(route, { authorization: 'Bearer wrong' }),
      gateway.ask(path.replace(':id', 'test-model'), { method: 'DELETE' }),
    ]);
    const caching = isPublic ? CACHING[path] : 'no-store';
    expect([answered, refused, wrongMethod].map(readHeaders)).toEqual([
      [answered.status, 'nosniff', caching],
      [isPublic ? 200 : 401, 'nosniff', caching],
      [405, 'nosniff', 'no-store'],
    ]);
  },
);

test.each(GENERATION)('%s: a stream is not sniffed, stored, buffered or compressed [sec-reply-headers, H-2]', async (path) => {
  const answer = await gateway.ask(path, { headers: { ...KEY, ...JSON_TYPE }, body: { ...BODY, stream: true } });
  expect([...readHeaders(answer), answer.headers['x-accel-buffering']]).toEqual([200, 'nosniff', 'no-cache, no-store, no-transform', 'no']);
});

test('replies outside of the routes are neither sniffed nor stored [sec-reply-headers]', async () => {
  const notFound = await gateway.ask('/nothing', { headers: KEY });
  const badBody = await gateway.ask(CHAT, { headers: { ...KEY, ...JSON_TYPE }, body: '{' });
  const badUrl = await gateway.ask('/v1/models/%E0', { headers: KEY });
  expect([notFound, badBody, badUrl].map(readHeaders)).toEqual([
    [404, 'nosniff', 'no-store'],
    [400, 'nosniff', 'no-store'],
    [400, 'nosniff', 'no-store'],
  ]);
});

test('the refusal of a request that is no HTTP is neither sniffed nor stored [sec-reply-headers]', async () => {
  const socket = await gateway.connect();
  socket.write(`NOTHING / HTTP/1.1\r\nauthorization: Bearer ${TEST_KEY}\r\n\r\n`);
  const [head = ''] = (await readText(socket)).split('\r\n\r\n');
  expect(head.split('\r\n').filter((line) => /^(HTTP|x-content|cache)/.test(line))).toEqual([
    'HTTP/1.1 400 Bad Request',
    'x-content-type-options: nosniff',
    'cache-control: no-store',
  ]);
});

import OpenAI from 'openai';
import { TEST_KEY } from '#testing/fake-services.js';
import { startTestGateway, type TestGateway } from '../../test/test-gateway.js';
import type { GatewayConfig } from '../gateway.config.js';

/** OpenAI's SDK against a gateway with fake services, for what depends on the gateway's settings. */

const ORIGIN = 'https://app.example.com';
const MESSAGE = { model: 'test-model', messages: [{ role: 'user' as const, content: 'Hi' }] };

let gateway: TestGateway;
afterEach(() => gateway.close());

async function start(settings: Partial<GatewayConfig>, options: object = {}): Promise<OpenAI> {
  gateway = await startTestGateway(settings);
  return new OpenAI({ apiKey: TEST_KEY, baseURL: `${gateway.url}/v1`, maxRetries: 0, ...options });
}

/** `fetch` with the rules of a browser for a page of `origin`: a preflight first, and only headers that scripts may read. */
function browserFetch(origin: string): typeof fetch {
  return async (input, init) => {
    const headers = new Headers(init?.headers);
    const method = init?.method ?? 'GET';
    const names = [...headers.keys()].filter((name) => !['accept', 'accept-language'].includes(name)).sort();
    const wish = { origin, 'access-control-request-method': method, 'access-control-request-headers': names.join() };
    const preflight = await fetch(input, { method: 'OPTIONS', headers: wish });
    const listed = (name: string) =>
      (preflight.headers.get(name) ?? '')
        .toLowerCase()
        .split(',')
        .map((one) => one.trim());
    if (preflight.headers.get('access-control-allow-origin') !== origin) throw new TypeError('origin not allowed');
    if (!listed('access-control-allow-methods').includes(method.toLowerCase())) throw new TypeError('method not allowed');
    if (names.some((name) => !listed('access-control-allow-headers').includes(name))) throw new TypeError('header not allowed');
    const response = await fetch(input, { ...init, headers: { ...Object.fromEntries(headers), origin } });
    if (response.headers.get('access-control-allow-origin') !== origin) throw new TypeError('reply not readable');
    const exposed = (response.headers.get('access-control-expose-headers') ?? '').split(',');
    const readable = [...response.headers].filter(([name]) => name === 'content-type' || exposed.includes(name));
    return new Response(response.body, { status: response.status, headers: readable });
  };
}

const inBrowser = { dangerouslyAllowBrowser: true, fetch: browserFetch(ORIGIN) };

test('the SDK in a page of an allowed origin gets replies, streams and the request id', async () => {
  const client = await start({ corsAllowedOrigins: ORIGIN }, inBrowser);
  const { data, request_id } = await client.chat.completions.create(MESSAGE).withResponse();
  expect([data.choices[0]?.message.content, request_id]).toEqual(['Hello.', expect.stringMatching(/^req_/)]);
  let text = '';
  for await (const chunk of await client.chat.completions.create({ ...MESSAGE, stream: true }))
    text += chunk.choices[0]?.delta.content ?? '';
  expect(text).toBe('Hello.');
});

test('the SDK in a page of another origin gets nothing', async () => {
  const client = await start({ corsAllowedOrigins: 'https://other.example.com' }, inBrowser);
  await expect(client.chat.completions.create(MESSAGE)).rejects.toThrow('Connection error.');
});

test('the SDK has the head of a stream after PEEK_MS, before the model has sent anything', async () => {
  const client = await start({ peekMs: 20 });
  const silent = Promise.withResolvers<() => void>();
  gateway.fakes.model = (stream) =>
    silent.resolve(() => {
      stream.write({ type: 'text-delta', text: 'Late.' }, { type: 'completion-finish', reason: 'stop' });
      stream.end();
    });
  const { data, response } = await client.chat.completions.create({ ...MESSAGE, stream: true }).withResponse();
  expect(response.status).toBe(200);
  (await silent.promise)();
  let text = '';
  for await (const chunk of data) text += chunk.choices[0]?.delta.content ?? '';
  expect(text).toBe('Late.');
});

test('strict tools of the SDK reach the inference-proxy as strict', async () => {
  const client = await start({});
  const parameters = { type: 'object', properties: {}, required: [], additionalProperties: false };
  const tools = [{ type: 'function' as const, function: { name: 'now', strict: true, parameters } }];
  await client.chat.completions.create({ ...MESSAGE, tools, parallel_tool_calls: false });
  const [opened] = gateway.fakes.opened;
  expect(opened?.request).toMatchObject({ hints: { parallelToolCalls: false }, tools: [{ wireName: 'now', strict: true }] });
});

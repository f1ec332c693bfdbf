import { readFileSync } from 'node:fs';
import { budgetSet } from '#contracts/billing/budgets.js';
import { stack } from '#testing/stack.js';
import { connectAdministrator, createTenant } from '#testing/tenant.js';
import { DescribedReplies, type OpenApi, type ReadReply } from './openapi-replies.js';

/** The OpenAPI document matches the gateway: every example works, and every field of every reply is documented. */

const { gatewayUrl } = stack();
const DOCUMENT = JSON.parse(readFileSync('docs/openapi.json', 'utf8')) as OpenApi;
const BALANCE_TOO_SMALL = '0';

const administrator = await connectAdministrator(stack());
const tenant = await createTenant(administrator, { tokensPerMinuteMax: 1_000_000_000 }); // so that replies have every header
const { accountId, keyId } = tenant;
await administrator.request(budgetSet, { accountId, keyId, dimension: 'child', period: 'total', limitPicoUsd: '2000000000000' });
const replies = await DescribedReplies.of(gatewayUrl);
afterAll(() => administrator.close());

async function send(path: string, body?: object | string, headers: Record<string, string> = {}, method?: string): Promise<ReadReply> {
  const url = `${gatewayUrl}${path}`;
  const response = await fetch(url, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: { authorization: `Bearer ${tenant.apiKey}`, 'content-type': 'application/json', ...headers },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  return replies.read(url, response);
}

test('the gateway serves the committed document', () => {
  expect(replies.document).toEqual(DOCUMENT);
});

const OPERATIONS = Object.entries(DOCUMENT.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);
const EXAMPLES = OPERATIONS.flatMap(({ path, operation }) =>
  Object.entries(operation.requestBody?.content['application/json']?.examples ?? {}).map(([name, { value }]) => ({ path, name, value })),
);

test('every request with a body has examples', () => {
  const paths = OPERATIONS.filter(({ method, path }) => method === 'post' && !path.endsWith('/revoke')).map(({ path }) => path);
  expect([...new Set(EXAMPLES.map(({ path }) => path))]).toEqual(paths);
  expect(EXAMPLES.length).toBeGreaterThan(20);
});

test.each(EXAMPLES)('the example $name of $path gets a documented reply', async ({ path, value }) => {
  const reply = await send(path, value);
  expect({ status: reply.status, faults: reply.faults }).toEqual({ status: 200, faults: [] });
  if ('stream' in value && !path.endsWith('/estimate')) expect(reply.events?.length).toBeGreaterThan(5);
});

test.each(OPERATIONS.filter(({ method }) => method === 'get'))(
  'GET $path gets the reply that is described',
  async ({ path, operation }) => {
    const [parameter] = (operation.parameters ?? []).filter((parameter) => parameter.in === 'path');
    const url = parameter === undefined ? path : path.replace(`{${parameter.name}}`, String(parameter.example ?? (await endedRequest())));
    const { status, faults } = await send(url);
    // The receipt of a request is made when its month is closed.
    expect({ status, faults }).toEqual({ status: path.endsWith('/receipt') ? 404 : 200, faults: [] });
  },
);

/** Returns the id of a request of the key. */
async function endedRequest(): Promise<string | null> {
  const { path, value } = EXAMPLES[0] as (typeof EXAMPLES)[number];
  const headers = { authorization: `Bearer ${tenant.apiKey}`, 'content-type': 'application/json' };
  const response = await fetch(`${gatewayUrl}${path}`, { method: 'POST', headers, body: JSON.stringify(value) });
  await response.arrayBuffer();
  return response.headers.get('x-request-id');
}

test('a request that is unknown gets a documented 404', async () => {
  const { status, faults } = await send('/v1/requests/req_none');
  expect({ status, faults }).toEqual({ status: 404, faults: [] });
});

interface Format {
  path: string;
  /** A body with this text. */
  ask(text: string, over?: object): object;
  tool: object;
}

/** `Retry-After` opens a circuit for all clients, so this model is not used by other suites. */
const UNSHARED_MODEL = 'sim-vision';

const SCHEMA = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const FORMATS: Format[] = [
  {
    path: '/v1/chat/completions',
    ask: (content, over) => ({ model: 'sim-fast', max_tokens: 200, messages: [{ role: 'user', content }], ...over }),
    tool: { type: 'function', function: { name: 'get_weather', parameters: SCHEMA } },
  },
  {
    path: '/v1/responses',
    ask: (input, over) => ({ model: 'sim-fast', max_output_tokens: 200, input, ...over }),
    tool: { type: 'function', name: 'get_weather', parameters: SCHEMA },
  },
  {
    path: '/v1/messages',
    ask: (content, over) => ({ model: 'sim-fast', max_tokens: 200, messages: [{ role: 'user', content }], ...over }),
    tool: { name: 'get_weather', input_schema: SCHEMA },
  },
];

describe.each(FORMATS)('$path', ({ path, ask, tool }) => {
  const twoCalls = 'call get_weather {"city":"Rome"}, call get_weather {"city":"Oslo"} [[sim interleave]]';
  const scenarios: [what: string, body: object][] = [
    ['reasoning', ask('Think', { model: 'sim-reason', thinking: { type: 'adaptive' } })],
    ['two calls, interleaved by the upstream', ask(twoCalls, { tools: [tool] })],
    [
      'a reply cut in the middle of a call',
      ask('call get_weather {"city":"Rome"}', { tools: [tool], max_tokens: 2, max_output_tokens: 2 }),
    ],
    ['a refusal', ask('Hello [[sim finish=content_filter]]')],
    ['cached tokens', ask('Hello [[sim cached=2]]')],
    ['awkward characters', ask('Hello [[sim unicode split]]')],
  ];

  test.each(scenarios)('plain and streamed as documented: %s', async (_what, body) => {
    for (const stream of [false, true]) {
      const { status, faults } = await send(path, { ...body, stream });
      expect({ stream, status, faults }).toEqual({ stream, status: 200, faults: [] });
    }
  });

  test('a failed stream ends with a documented error', async () => {
    const { status, events, faults } = await send(path, ask('Hello [[sim tokens=20 error=5]]', { stream: true }));
    expect({ status, faults }).toEqual({ status: 200, faults: [] });
    expect(JSON.stringify(events?.at(-1))).toMatch(/upstream_error|api_error/);
  });

  const refusals: [status: number, what: string, request: () => Promise<ReadReply>][] = [
    [400, 'not JSON', () => send(path, '{"model":')],
    [400, 'a field at fault', () => send(path, ask('Hello', { temperature: 7 }))],
    [401, 'no key', () => send(path, ask('Hello'), { authorization: '' })],
    [404, 'no such model', () => send(path, ask('Hello', { model: 'gpt-5' }))],
    [405, 'another method', () => send(path, undefined, {}, 'DELETE')],
    [413, 'too large', () => send(path, ask('x'.repeat(9 * 1024 * 1024)))],
    [415, 'no JSON', () => send(path, 'model=sim-fast', { 'content-type': 'application/x-www-form-urlencoded' })],
    [429, 'the upstream at capacity', () => send(path, ask('Hello [[sim status=429 retry-after=2]]', { model: UNSHARED_MODEL }))],
    [502, 'a failing upstream', () => send(path, ask('Hello [[sim status=500]]'))],
    [502, 'a failing upstream, streamed', () => send(path, ask('Hello [[sim status=500]]', { stream: true }))],
  ];

  test.each(refusals)('refused as documented: %i, %s', async (status, _what, request) => {
    const { status: got, faults, body } = await request();
    expect({ status: got, faults, body }).toEqual({ status, faults: [], body: expect.anything() });
  });

  test('refused as documented: 402 and 429', async () => {
    const poor = await createTenant(administrator, { usd: BALANCE_TOO_SMALL });
    const slow = await createTenant(administrator, { requestsPerMinuteMax: 1 });
    const outcomes: ReadReply[] = [];
    for (const { apiKey } of [poor, slow, slow]) outcomes.push(await send(path, ask('Hello'), { authorization: `Bearer ${apiKey}` }));
    expect(outcomes.map(({ status, faults }) => [status, faults])).toEqual([
      [402, []],
      [200, []],
      [429, []],
    ]);
  });
});

test('custom tools and namespaces are returned as documented', async () => {
  const tools = [
    { type: 'custom', name: 'shell' },
    { type: 'namespace', name: 'agents', tools: [{ type: 'function', name: 'close', parameters: SCHEMA }] },
  ];
  const body = { model: 'sim-fast', input: 'call shell {"input":"date"}, call close {"city":"Rome"}', tools };
  for (const stream of [false, true]) {
    const { status, faults } = await send('/v1/responses', { ...body, stream });
    expect({ stream, status, faults }).toEqual({ stream, status: 200, faults: [] });
  }
});

test('errors of other endpoints are as documented', async () => {
  const unknownKey = { authorization: 'Bearer unknown' };
  const outcomes = [
    await send('/v1/models', undefined, unknownKey),
    await send('/v1/balance', undefined, unknownKey),
    await send('/v1/models/gpt-5'),
    await send('/v1/models', undefined, {}, 'DELETE'),
    await send('/openapi.json', undefined, {}, 'DELETE'),
    await send('/v1/messages/count_tokens', { messages: [] }),
  ];
  expect(outcomes.map(({ status, faults }) => [status, faults])).toEqual([401, 401, 404, 405, 405, 400].map((status) => [status, []]));
});

test('the check can fail: an undocumented field, header and status', async () => {
  const document = structuredClone(DOCUMENT) as OpenApi & {
    components: { schemas: { Model: { properties: Record<string, object>; required: string[] } } };
  };
  const { Model } = document.components.schemas;
  expect(Model.properties).toHaveProperty('owned_by');
  delete Model.properties.owned_by;
  Model.required = [];
  document.components.headers.RequestId = { schema: { type: 'string', pattern: '^never$' } as { type: string } };
  const strict = new DescribedReplies(document);
  const url = `${gatewayUrl}/v1/models/sim-fast`;
  const headers = { authorization: `Bearer ${tenant.apiKey}` };
  expect((await strict.read(url, await fetch(url, { headers }))).faults).toEqual([
    'x-request-id: the value must match pattern "^never$"',
    'request-id: the value must match pattern "^never$"',
    'the value must NOT have additional properties',
  ]);
  delete document.paths['/v1/models/{id}']?.get?.responses[401];
  expect((await new DescribedReplies(document).read(url, await fetch(url))).faults).toEqual([
    expect.stringMatching('401 is not described at /v1/models/{id}'),
  ]);
});

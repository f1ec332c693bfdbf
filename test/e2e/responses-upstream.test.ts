import { readFileSync } from 'node:fs';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { catalogApply } from '#contracts/catalog.js';
import type { Messaging } from '#messaging/messaging.js';
import { type RunningStack, startPrivateStack } from '#testing/stack.js';
import { connectAdministrator, createTenant, readBalance, type Tenant } from '#testing/tenant.js';
import { type SimServer, startSimServer } from '../../apps/upstream-sim/src/sim-server.js';

/** An upstream that speaks Responses is, to every client, the upstream that speaks chat: same text, same calls, same usage. */
let running: RunningStack;
/** The one that is only asked in Responses. */
let sim: SimServer;
let administrator: Messaging;
let tenant: Tenant;
let openai: OpenAI;
let anthropic: Anthropic;

beforeAll(async () => {
  [running, sim] = await Promise.all([startPrivateStack(), startSimServer({ host: '127.0.0.1', port: 0, record: true })]);
  administrator = await connectAdministrator(running);
  await administrator.request(catalogApply, { yaml: catalogWithResponses() });
  tenant = await createTenant(administrator);
  openai = new OpenAI({ baseURL: `${running.gatewayUrl}/v1`, apiKey: tenant.apiKey, maxRetries: 0 });
  anthropic = new Anthropic({ baseURL: running.gatewayUrl, apiKey: tenant.apiKey, maxRetries: 0 });
  await untilOffered('sim-vision-responses');
}, 60_000);
afterAll(async () => {
  await administrator?.close();
  await Promise.all([running?.stop(), sim?.close()]);
}, 60_000);

/** The demo catalog, and every model of it once more, at a simulator in the other dialect. */
function catalogWithResponses(): string {
  const file = readFileSync('config/catalog.yaml', 'utf8');
  const [upstreams = '', models = ''] = file.split(/^models:$/m);
  const again = models
    .replaceAll(/^ {2}- id: (\S+)/gm, '  - id: $1-responses')
    .replaceAll('{ upstream: local,', '{ upstream: local-responses,');
  const other =
    `  - { id: local-responses, kind: openai-responses, baseUrl: "${sim.url}/v1", allowPrivateNetwork: true, ` +
    'capabilities: { reasoningSummary: true, parallelToolCalls: true } }\n';
  return `${upstreams}${other}models:${models}\n${again}`;
}

async function untilOffered(model: string): Promise<void> {
  for (const deadline = Date.now() + 10_000; Date.now() < deadline; ) {
    const { data } = await openai.models.list();
    if (data.some(({ id }) => id === model)) return;
  }
  throw new Error(`${model} is not offered`);
}

const OF_THE_REQUEST = new Set(['id', 'call_id', 'model', 'created', 'created_at', 'completed_at', 'tool_call_id', '_request_id']);

/** A reply without what belongs to this one request. */
function sayingOf(reply: unknown): unknown {
  return JSON.parse(JSON.stringify(reply, (key, value: unknown) => (OF_THE_REQUEST.has(key) ? undefined : value)));
}

const parameters = { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false };
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const CALLS = 'call weather {"city": "Rome"}, call traffic {"city": "Oslo"} [[sim interleave tokens=2 chunk=2]]';

const tool = (name: string) => ({ name, description: `The ${name}` });
const chatTools = ['weather', 'traffic'].map((name) => ({ type: 'function' as const, function: { ...tool(name), parameters } }));
const responsesTools = ['weather', 'traffic'].map((name) => ({ type: 'function' as const, ...tool(name), parameters, strict: false }));
const messagesTools = ['weather', 'traffic'].map((name) => ({ ...tool(name), input_schema: parameters }));
const custom = {
  type: 'custom' as const,
  name: 'shell',
  format: { type: 'grammar' as const, syntax: 'lark' as const, definition: 'start: /.+/' },
};

type Body = Record<string, unknown>;
const user = (content: unknown) => [{ role: 'user', content }];
const schema = { name: 'answer', schema: parameters, strict: true };

/** Scenario, model, and the request in chat, Responses and Messages; a format without the thing is left out. */
const SCENARIOS: [string, string, { chat?: Body; responses?: Body; messages?: Body }][] = [
  [
    'text, cached',
    'sim-fast',
    {
      chat: { messages: [{ role: 'system', content: 'Be brief.' }, ...user('Hello [[sim tokens=9 cached=3 unicode split]]')] },
      responses: { instructions: 'Be brief.', input: 'Hello [[sim tokens=9 cached=3 unicode split]]' },
      messages: { system: 'Be brief.', messages: user('Hello [[sim tokens=9 cached=3 unicode split]]') },
    },
  ],
  [
    'reasoning',
    'sim-reason',
    {
      chat: { messages: user('Think') },
      responses: { input: 'Think' },
      messages: { messages: user('Think'), max_tokens: 2_000, thinking: { type: 'enabled', budget_tokens: 1_024 } },
    },
  ],
  [
    'parallel calls, interleaved',
    'sim-fast',
    {
      chat: { messages: user(CALLS), tools: chatTools },
      responses: { input: CALLS, tools: responsesTools },
      messages: { messages: user(CALLS), tools: messagesTools },
    },
  ],
  [
    'a forced call',
    'sim-fast',
    {
      chat: { messages: user('Now'), tools: chatTools, tool_choice: { type: 'function', function: { name: 'traffic' } } },
      responses: { input: 'Now', tools: responsesTools, tool_choice: { type: 'function', name: 'traffic' } },
      messages: { messages: user('Now'), tools: messagesTools, tool_choice: { type: 'tool', name: 'traffic' } },
    },
  ],
  ['a custom call', 'sim-fast', { responses: { input: 'call shell {"input": "date\\nls"}', tools: [custom, ...responsesTools] } }],
  [
    'calls and their results',
    'sim-fast',
    {
      chat: {
        messages: [
          ...user('call weather'),
          {
            role: 'assistant',
            content: 'I ask.',
            tool_calls: [{ id: 'a', type: 'function', function: { name: 'weather', arguments: '{}' } }],
          },
          { role: 'tool', tool_call_id: 'a', content: '21 °C' },
        ],
        tools: chatTools,
      },
      responses: {
        input: [
          ...user('call shell'),
          { type: 'custom_tool_call', call_id: 'a', name: 'shell', input: 'date' },
          { type: 'custom_tool_call_output', call_id: 'a', output: 'Monday' },
        ],
        tools: [custom],
      },
      messages: {
        messages: [
          ...user('call weather'),
          { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'weather', input: {} }] },
          ...user([{ type: 'tool_result', tool_use_id: 'a', content: '21 °C', is_error: true }]),
        ],
        tools: messagesTools,
      },
    },
  ],
  [
    'an image',
    'sim-vision',
    {
      chat: { messages: user([{ type: 'image_url', image_url: { url: `data:image/png;base64,${PIXEL}` } }]) },
      responses: { input: user([{ type: 'input_image', image_url: `data:image/png;base64,${PIXEL}`, detail: 'auto' }]) },
      messages: { messages: user([{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } }]) },
    },
  ],
  [
    'a schema',
    'sim-fast',
    {
      chat: { messages: user('JSON'), response_format: { type: 'json_schema', json_schema: schema } },
      responses: { input: 'JSON', text: { format: { type: 'json_schema', ...schema } } },
    },
  ],
  [
    'a cut',
    'sim-fast',
    {
      chat: { messages: user('Hello'), max_completion_tokens: 5 },
      responses: { input: 'Hello', max_output_tokens: 5 },
      messages: { messages: user('Hello'), max_tokens: 5 },
    },
  ],
];

const cases = SCENARIOS.flatMap(([name, model, requests]) =>
  Object.entries(requests).map(([format, request]): [string, string, string, Body] => [format, name, model, request]),
);

test.each(cases)('a %s client: %s', async (format, _name, model, request) => {
  for (const ask of [askPlain, askStreamed]) {
    const [chat, responses] = [await ask(format, { model, ...request }), await ask(format, { model: `${model}-responses`, ...request })];
    expect(sayingOf(responses)).toEqual(sayingOf(chat));
  }
});

function askPlain(format: string, request: Body): Promise<unknown> {
  if (format === 'chat') return openai.chat.completions.create(request as never);
  if (format === 'responses') return openai.responses.create(request as never);
  return anthropic.messages.create({ max_tokens: 500, ...request } as never);
}

function askStreamed(format: string, request: Body): Promise<unknown> {
  if (format === 'chat') {
    const streamOptions = { stream_options: { include_usage: true } };
    return openai.chat.completions.stream({ ...request, ...streamOptions } as never).finalChatCompletion();
  }
  if (format === 'responses') return openai.responses.stream(request as never).finalResponse();
  return anthropic.messages.stream({ max_tokens: 500, ...request } as never).finalMessage();
}

test.each([
  [false, 'plain'],
  [true, 'streamed'],
])('T-44: a stop sequence is found although the dialect has none, and ends the request upstream (streamed: %s)', async (stream) => {
  const messages = [{ role: 'user' as const, content: 'Say [[sim say="One two END three four five six seven eight" chunk=1 rate=20]]' }];
  const request = { messages, stop: ['wo END th'], max_completion_tokens: 100 };
  const before = BigInt((await readBalance(running.gatewayUrl, tenant.apiKey)).balance_pico_usd);
  const reply = stream
    ? await openai.chat.completions
        .stream({ model: 'sim-fast-responses', ...request, stream_options: { include_usage: true } })
        .finalChatCompletion()
    : await openai.chat.completions.create({ model: 'sim-fast-responses', ...request });
  const { balance_pico_usd: after, reserved_pico_usd: reserved } = await readBalance(running.gatewayUrl, tenant.apiKey);
  expect([reply.choices[0]?.message.content, reply.choices[0]?.finish_reason, reserved]).toEqual(['One t', 'stop', '0']);
  const { prompt_tokens: prompt = 0, completion_tokens: output = 0 } = reply.usage ?? {};
  expect(before - BigInt(after)).toBe(BigInt(prompt) * 150_000n + BigInt(output) * 600_000n);
});

test('they were asked in Responses, and those whose answer was cut were left', async () => {
  const recorded = (await (await fetch(`${sim.url}/sim/requests`)).json()) as { path: string }[];
  expect(new Set(recorded.map(({ path }) => path))).toEqual(new Set(['/v1/responses']));
  let stats: Record<string, number>;
  do stats = (await (await fetch(`${sim.url}/sim/stats`)).json()) as Record<string, number>;
  while (stats.open !== 0);
  const { started, aborted } = stats;
  expect({ started, aborted }).toEqual({ started: 2 * cases.length + 2, aborted: 1 });
});

test('failures are those of any upstream', async () => {
  const ask = (content: string) => openai.chat.completions.create({ model: 'sim-fast-responses', messages: [{ role: 'user', content }] });
  await expect(ask('[[sim status=429 retry-after=7]]')).rejects.toMatchObject({ status: 429, code: 'model_capacity' });
  await expect(ask('[[sim overflow]]')).rejects.toMatchObject({ status: 400, code: 'context_length_exceeded' });
  await expect(ask('[[sim error=3]]')).rejects.toMatchObject({ status: 502, code: 'upstream_error' });
});

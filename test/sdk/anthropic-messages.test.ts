import Anthropic, { AuthenticationError, BadRequestError, InternalServerError, NotFoundError } from '@anthropic-ai/sdk';
import { jsonSchemaOutputFormat } from '@anthropic-ai/sdk/helpers/json-schema';
import type { Messaging } from '#messaging/messaging.js';
import { computeCost, type Price } from '#money/price.js';
import { stack } from '#testing/stack.js';
import { connectAdministrator, createTenant, readBalance, type Tenant } from '#testing/tenant.js';

const { gatewayUrl } = stack();
/** Price of every model in config/catalog.yaml. */
const price: Price = { inputPicoUsd: 150_000n, cachedInputPicoUsd: 15_000n, outputPicoUsd: 600_000n };

let administrator: Messaging;
let tenant: Tenant;
let client: Anthropic;
beforeAll(async () => {
  administrator = await connectAdministrator(stack());
  tenant = await createTenant(administrator);
  client = new Anthropic({ apiKey: tenant.apiKey, baseURL: gatewayUrl, maxRetries: 0 });
});
afterAll(() => administrator?.close());

function ask(content: string): Anthropic.MessageCreateParamsNonStreaming {
  return { model: 'sim-fast', max_tokens: 200, messages: [{ role: 'user', content }] };
}

const weather: Anthropic.Tool = {
  name: 'get_weather',
  description: 'Weather of a city',
  input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};

test('create: a message with every documented field, billed exactly', async () => {
  const before = await readBalance(gatewayUrl, tenant.apiKey);
  const message = await client.messages.create(ask('Hello [[sim tokens=12 cached=1]]'));
  const after = await readBalance(gatewayUrl, tenant.apiKey);
  expect(message).toMatchObject({
    id: expect.stringMatching(/^msg_/),
    type: 'message',
    role: 'assistant',
    model: 'sim-fast',
    content: [{ type: 'text', text: expect.stringMatching(/./) }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { cache_read_input_tokens: 1, cache_creation_input_tokens: 0, output_tokens: 12 },
  });
  const { input_tokens, output_tokens } = message.usage;
  const cost = computeCost({ promptTokens: input_tokens + 1, cachedTokens: 1, outputTokens: output_tokens }, price);
  expect(BigInt(before.balance_pico_usd) - BigInt(after.balance_pico_usd)).toBe(cost);
});

test('stream: the helper folds the events to the plain reply', async () => {
  const request = ask('Tell me a story [[sim tokens=50]]');
  const plain = await client.messages.create(request);
  const streamed = await client.messages.stream(request).finalMessage();
  // The helper adds `parsed_output`.
  expect(streamed).toEqual({ ...plain, id: expect.stringMatching(/^msg_/), parsed_output: null });
});

test('thinking blocks come on request; thinking is billed either way', async () => {
  const request = { ...ask('Think'), model: 'sim-reason' };
  const hidden = await client.messages.create(request);
  const shown = await client.messages.create({ ...request, thinking: { type: 'enabled', budget_tokens: 1024 } } as typeof request);
  expect(hidden.content.map((block) => block.type)).toEqual(['text']);
  expect(shown.content.map((block) => block.type)).toEqual(['thinking', 'text']);
  expect(shown.usage).toEqual(hidden.usage);
});

test('tools: parallel calls, interleaved by the upstream, arrive whole and their results are answered', async () => {
  const request = { ...ask('call get_weather, call get_time [[sim interleave]]'), tools: [weather, { ...weather, name: 'get_time' }] };
  const called = await client.messages.stream(request).finalMessage();
  const calls = called.content.filter((block) => block.type === 'tool_use');
  expect(calls.map((call) => [call.name, call.input])).toEqual([
    ['get_weather', { city: expect.any(String) }],
    ['get_time', { city: expect.any(String) }],
  ]);
  expect(called.stop_reason).toBe('tool_use');
  const results = calls.map((call) => ({ type: 'tool_result' as const, tool_use_id: call.id, content: `sunny ${call.name}` }));
  const answered = await client.messages.create({
    ...request,
    messages: [...request.messages, { role: 'assistant', content: called.content }, { role: 'user', content: results }],
  });
  expect(JSON.stringify(answered.content)).toContain('sunny');
});

test('count_tokens is free', async () => {
  const before = await readBalance(gatewayUrl, tenant.apiKey);
  const { model, messages } = ask('How long is this?');
  expect(await client.messages.countTokens({ model, messages })).toEqual({ input_tokens: expect.any(Number) });
  expect(await readBalance(gatewayUrl, tenant.apiKey)).toEqual(before);
});

test.each([
  ['a bad field', { ...ask('x'), max_tokens: 0 }, BadRequestError, { status: 400, type: 'invalid_request_error' }],
  ['an unknown model', { ...ask('x'), model: 'claude-5' }, NotFoundError, { status: 404, type: 'not_found_error' }],
  ['a broken upstream', ask('[[sim status=500]]'), InternalServerError, { status: 502, type: 'api_error' }],
] as const)('%s arrives as the class of its status', async (_name, request, errorClass, fields) => {
  const error = await client.messages.create(request as Anthropic.MessageCreateParamsNonStreaming).catch((cause: unknown) => cause);
  expect(error).toBeInstanceOf(errorClass);
  expect(error).toMatchObject({ ...fields, requestID: expect.stringMatching(/^req_/) });
});

test('accepts the key in x-api-key and in Authorization [T-1]', async () => {
  const headers = { 'x-api-key': tenant.apiKey, 'content-type': 'application/json', 'anthropic-version': '2023-06-01' };
  const response = await fetch(`${gatewayUrl}/v1/messages?beta=true`, { method: 'POST', headers, body: JSON.stringify(ask('Hello')) });
  expect(response.status).toBe(200);
  const wrong = new Anthropic({ apiKey: 'tg_live_wrong', baseURL: gatewayUrl, maxRetries: 0 });
  await expect(wrong.messages.create(ask('x'))).rejects.toBeInstanceOf(AuthenticationError);
});

test('a failure inside a stream is thrown', async () => {
  const stream = client.messages.stream(ask('Hello [[sim tokens=30 rate=300 error=10]]'));
  await expect(stream.finalMessage()).rejects.toMatchObject({ type: 'api_error' });
});

test('parse: the output fits its schema, plain and streamed [messages-output-format]', async () => {
  const schema = {
    type: 'object',
    properties: { city: { type: 'string' }, days: { type: 'integer' } },
    required: ['city'],
    additionalProperties: false,
  } as const;
  const request = { ...ask('Hello'), output_config: { format: jsonSchemaOutputFormat(schema) } };
  const plain = await client.messages.parse(request);
  const streamed = await client.messages.stream(request).finalMessage();
  for (const { parsed_output } of [plain, streamed]) expect(parsed_output).toEqual({ city: expect.any(String) });
});

import OpenAI, { APIError, AuthenticationError, BadRequestError, InternalServerError, NotFoundError, RateLimitError } from 'openai';
import type { Messaging } from '#messaging/messaging.js';
import { PIXEL } from '#testing/pixel.js';
import { stack } from '#testing/stack.js';
import { connectAdministrator, createTenant, type Tenant } from '#testing/tenant.js';

const { gatewayUrl } = stack();
let administrator: Messaging;
let tenant: Tenant;
let client: OpenAI;

beforeAll(async () => {
  administrator = await connectAdministrator(stack());
  tenant = await createTenant(administrator);
  client = clientFor(tenant.apiKey);
});
afterAll(() => administrator?.close());

function clientFor(apiKey: string): OpenAI {
  return new OpenAI({ apiKey, baseURL: `${gatewayUrl}/v1`, maxRetries: 0 });
}

function ask(content: string): { model: string; messages: OpenAI.ChatCompletionMessageParam[] } {
  return { model: 'sim-fast', messages: [{ role: 'user', content }] };
}

const weather = {
  type: 'function' as const,
  function: {
    name: 'get_weather',
    description: 'Weather of a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
};

test('create: a completion with every documented field', async () => {
  const completion = await client.chat.completions.create(ask('Hello [[sim tokens=5]]'));
  expect(completion).toMatchObject({
    id: expect.stringMatching(/^chatcmpl-/),
    object: 'chat.completion',
    created: expect.any(Number),
    model: 'sim-fast',
    choices: [{ index: 0, message: { role: 'assistant', content: expect.stringMatching(/./) }, finish_reason: 'stop' }],
    usage: { completion_tokens: 5 },
  });
  expect(completion._request_id).toMatch(/^req_/);
});

test('stream: the helper folds the chunks to the plain reply', async () => {
  const request = ask('Tell me a story [[sim tokens=50]]');
  const plain = await client.chat.completions.create(request);
  const streamed = await client.chat.completions.stream({ ...request, stream_options: { include_usage: true } }).finalChatCompletion();
  expect(streamed.choices[0]?.message.content).toBe(plain.choices[0]?.message.content);
  expect(streamed.usage).toEqual(plain.usage);
});

test('reasoning is separate from the answer and counts as output [chat-reasoning]', async () => {
  const completion = await client.chat.completions.create({ ...ask('Think'), model: 'sim-reason' });
  const message = completion.choices[0]?.message as OpenAI.ChatCompletionMessage & { reasoning_content?: string };
  expect(message.reasoning_content).toMatch(/./);
  expect(message.content).toMatch(/./);
  expect(completion.usage?.completion_tokens_details?.reasoning_tokens).toBeGreaterThan(0);
});

test('runTools: calls a tool, takes its result and answers', async () => {
  const calls: unknown[] = [];
  const runner = client.chat.completions.runTools({
    ...ask('call get_weather'),
    tools: [
      {
        type: 'function',
        function: {
          ...weather.function,
          parse: JSON.parse,
          function: (given: { city: string }) => {
            calls.push(given);
            return 'sunny';
          },
        },
      },
    ],
  });
  const answer = await runner.finalContent();
  expect(calls).toEqual([{ city: expect.any(String) }]);
  expect(answer).toContain('sunny');
});

test('runTools streamed: parallel calls arrive whole', async () => {
  const called: string[] = [];
  const tool = (name: string) => ({
    type: 'function' as const,
    function: {
      name,
      description: name,
      parameters: weather.function.parameters,
      parse: JSON.parse,
      function: () => `${called.push(name)}`,
    },
  });
  const runner = client.chat.completions.runTools({
    ...ask('call alpha, call beta [[sim interleave]]'),
    stream: true,
    tools: [tool('alpha'), tool('beta')],
  });
  await runner.finalContent();
  expect(called.sort()).toEqual(['alpha', 'beta']);
});

test('a forced tool is called, and finish_reason says so [chat-tool-choice]', async () => {
  const completion = await client.chat.completions.create({
    ...ask('anything'),
    tools: [weather],
    tool_choice: { type: 'function', function: { name: 'get_weather' } },
  });
  expect(completion.choices[0]).toMatchObject({
    finish_reason: 'tool_calls',
    message: { content: null, tool_calls: [{ id: expect.any(String), type: 'function', function: { name: 'get_weather' } }] },
  });
});

test('JSON output: json_object and json_schema give JSON [chat-response-format, D5]', async () => {
  const object = await client.chat.completions.create({ ...ask('some json'), response_format: { type: 'json_object' } });
  expect(typeof JSON.parse(object.choices[0]?.message.content ?? '')).toBe('object');
  const schema = { type: 'object', properties: { answer: { type: 'integer' } }, required: ['answer'], additionalProperties: false };
  const typed = await client.chat.completions.create({
    ...ask('some json'),
    response_format: { type: 'json_schema', json_schema: { name: 'answer', schema, strict: true } },
  });
  expect(JSON.parse(typed.choices[0]?.message.content ?? '')).toEqual({ answer: expect.any(Number) });
});

const pixel = `data:image/png;base64,${PIXEL}`;

function askAbout(model: string, url: string) {
  const content: OpenAI.ChatCompletionContentPart[] = [
    { type: 'text', text: 'what is it?' },
    { type: 'image_url', image_url: { url } },
  ];
  return client.chat.completions.create({ model, messages: [{ role: 'user', content }] });
}

test('images reach a vision model', async () => {
  const completion = await askAbout('sim-vision', pixel);
  expect(completion.choices[0]?.finish_reason).toBe('stop');
});

test('an image for a text model is unsupported_content; an image by link is image_url_not_supported [chat-images, error-unsupported-content, error-image-url]', async () => {
  await expect(askAbout('sim-fast', pixel)).rejects.toMatchObject({ status: 400, code: 'unsupported_content' });
  await expect(askAbout('sim-vision', 'https://example.com/a.png')).rejects.toMatchObject({
    status: 400,
    code: 'image_url_not_supported',
    param: 'messages[0].content[1].image_url.url',
  });
});

test('stop and max_tokens end the reply with their reasons', async () => {
  const cut = await client.chat.completions.create({ ...ask('Hello [[sim tokens=50]]'), max_tokens: 7 });
  expect(cut.choices[0]?.finish_reason).toBe('length');
  expect(cut.usage?.completion_tokens).toBe(7);
  const whole = (await client.chat.completions.create(ask('Hello [[sim tokens=50]]'))).choices[0]?.message.content ?? '';
  const stop = whole.slice(40, 48);
  const stopped = await client.chat.completions.create({ ...ask('Hello [[sim tokens=50]]'), stop });
  expect(stopped.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: whole.slice(0, whole.indexOf(stop)) } });
});

describe('errors have the class of their status, with code, type, param and request id', () => {
  test.each([
    ['a bad field', { ...ask('x'), temperature: 9 }, BadRequestError, { status: 400, code: 'invalid_request', param: 'temperature' }],
    [
      'an unknown model [error-model-not-found]',
      { ...ask('x'), model: 'gpt-4o' },
      NotFoundError,
      { status: 404, code: 'model_not_found', param: 'model' },
    ],
    [
      'a prompt too long [error-context-length]',
      { ...ask('word '.repeat(4000)), model: 'sim-tiny' },
      BadRequestError,
      { status: 400, code: 'context_length_exceeded' },
    ],
    ['a broken upstream [error-upstream]', ask('[[sim status=500]]'), InternalServerError, { status: 502, code: 'upstream_error' }],
    [
      'an overloaded upstream [error-unavailable]',
      ask('[[sim status=503]]'),
      InternalServerError,
      { status: 503, code: 'model_unavailable' },
    ],
    [
      'a full upstream [error-model-capacity]',
      { ...ask('[[sim status=429 retry-after=2]]'), model: 'sim-vision' },
      RateLimitError,
      { status: 429, code: 'model_capacity' },
    ],
  ])('%s', async (_name, request, errorClass, fields) => {
    const error = await client.chat.completions.create(request as OpenAI.ChatCompletionCreateParamsNonStreaming).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(errorClass);
    expect(error).toMatchObject({ ...fields, requestID: expect.stringMatching(/^req_/) });
  });

  test('a wrong key [error-invalid-key]', async () => {
    const error = await clientFor('tg_live_wrong')
      .chat.completions.create(ask('x'))
      .catch((e: unknown) => e);
    expect(error).toBeInstanceOf(AuthenticationError);
    expect(error).toMatchObject({ status: 401, code: 'invalid_api_key', type: 'authentication_error' });
  });

  test('no money [hold-refused, error-insufficient-balance]', async () => {
    const poor = await createTenant(administrator, { usd: '0' });
    const error = await clientFor(poor.apiKey)
      .chat.completions.create(ask('x'))
      .catch((e: unknown) => e);
    expect(error).toBeInstanceOf(APIError);
    expect(error).toMatchObject({ status: 402, code: 'insufficient_balance', type: 'insufficient_balance_error' });
  });

  test('an error inside a stream is thrown', async () => {
    const stream = await client.chat.completions.create({ ...ask('Hello [[sim tokens=30 rate=300 error=10]]'), stream: true });
    const read = async () => {
      let text = '';
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
      return text;
    };
    await expect(read()).rejects.toMatchObject({ code: 'upstream_error', type: 'api_error' });
  });
});

test('models: list and retrieve [model-object, L-1, L-4]', async () => {
  const models = await client.models.list();
  expect(models.data.map((model) => model.id)).toEqual(expect.arrayContaining(['sim-fast', 'sim-reason', 'sim-vision', 'sim-tiny']));
  expect(await client.models.retrieve('sim-fast')).toEqual({
    id: 'sim-fast',
    object: 'model',
    created: expect.any(Number),
    owned_by: 'tollgate',
  });
  await expect(client.models.retrieve('nope')).rejects.toMatchObject({ status: 404, code: 'model_not_found' });
});

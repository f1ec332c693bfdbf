import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { APICallError, generateObject, generateText, isStepCount, type LanguageModel, Output, streamText, tool } from 'ai';
import { z } from 'zod';
import { PIXEL } from '#testing/pixel.js';
import { stack } from '#testing/stack.js';
import { connectAdministrator, createTenant, readBalance, untilNoHolds } from '#testing/tenant.js';

/** AI SDK 7 with the provider of each format: applications see the same results. */
const { gatewayUrl } = stack();

const administrator = await connectAdministrator(stack());
const tenant = await createTenant(administrator);
afterAll(() => administrator.close());

type Request = Parameters<typeof generateText>[0];
type Fetch = typeof globalThis.fetch;

interface Provider {
  name: string;
  model(id: string, apiKey: string, fetch?: Fetch): LanguageModel;
  /** Options that an application must set. */
  providerOptions: Request['providerOptions'];
  /** Options to receive reasoning. */
  thinking?: Request['providerOptions'];
  /** False: the provider ignores reasoning, which is billed. */
  readsReasoning: boolean;
}

const baseURL = `${gatewayUrl}/v1`;
const PROVIDERS: Provider[] = [
  {
    name: '@ai-sdk/openai on chat',
    model: (id, apiKey, fetch) => createOpenAI({ baseURL, apiKey, fetch }).chat(id),
    providerOptions: {},
    readsReasoning: false,
  },
  {
    name: '@ai-sdk/openai-compatible on chat',
    model: (id, apiKey, fetch) =>
      createOpenAICompatible({ name: 'tollgate', baseURL, apiKey, fetch, includeUsage: true, supportsStructuredOutputs: true })(id),
    providerOptions: {},
    readsReasoning: true,
  },
  {
    name: '@ai-sdk/openai on responses',
    model: (id, apiKey, fetch) => createOpenAI({ baseURL, apiKey, fetch }).responses(id),
    providerOptions: { openai: { store: false } },
    readsReasoning: true,
  },
  {
    name: '@ai-sdk/anthropic on messages',
    model: (id, apiKey, fetch) => createAnthropic({ baseURL, apiKey, fetch })(id),
    providerOptions: {},
    // Off by default: with thinking the provider forces no tool, and so no structured output.
    thinking: { anthropic: { thinking: { type: 'enabled', budgetTokens: 1024 } } },
    readsReasoning: true,
  },
];

const cities = z.object({ city: z.string() });
const tools = {
  get_weather: tool({ description: 'Weather', inputSchema: cities, execute: ({ city }) => `sunny in ${city}` }),
  get_time: tool({ description: 'Time', inputSchema: cities, execute: ({ city }) => `noon in ${city}` }),
};
const CALLS = 'call get_weather {"city": "Rome"}, call get_time {"city": "Oslo"} [[sim interleave]]';

describe.each(PROVIDERS)('AI SDK 7, $name', ({ model, providerOptions, thinking = providerOptions, readsReasoning }) => {
  const from = (id: string, request: Partial<Request> = {}) =>
    ({ model: model(id, tenant.apiKey), providerOptions, maxOutputTokens: 2_000, maxRetries: 0, ...request }) as Request;
  const ask = (prompt: string, request: Partial<Request> = {}) => from('sim-fast', { prompt, ...request } as Partial<Request>);

  test('generateText and streamText: one text, one usage', async () => {
    const request = ask('Hello [[sim tokens=16 cached=4]]');
    const plain = await generateText(request);
    const streamed = streamText(request);
    const text = 'The florist feeds a gull and tells a riddle in the small square.';
    const expected = { text, finishReason: 'stop', ...usage(8, 4, 16) };
    expect({ text: plain.text, finishReason: plain.finishReason, ...readCounts(plain.usage) }).toEqual(expected);
    expect({ text: await streamed.text, finishReason: await streamed.finishReason, ...readCounts(await streamed.usage) }).toEqual(expected);
    expect([plain.warnings, await streamed.warnings]).toEqual([[], []]);
  });

  test('metadata: model, id and request id', async () => {
    const { response } = await generateText(ask('Hello'));
    expect(response).toMatchObject({ id: expect.stringMatching(/^(chatcmpl-|resp_|msg_)/), modelId: 'sim-fast' });
    expect(response.headers).toMatchObject({ 'x-request-id': expect.stringMatching(/^req_/) });
  });

  test('tools: parallel calls are executed and answered, plain and streamed [R-1g]', async () => {
    const request = ask(CALLS, { tools, stopWhen: isStepCount(3) } as Partial<Request>);
    const streamed = streamText(request);
    for (const steps of [(await generateText(request)).steps, await streamed.steps]) {
      expect(steps.map(({ text, finishReason, toolResults }) => ({ text, finishReason, results: toolResults.map(pickResult) }))).toEqual([
        {
          text: '',
          finishReason: 'tool-calls',
          results: [
            ['get_weather', { city: 'Rome' }, 'sunny in Rome'],
            ['get_time', { city: 'Oslo' }, 'noon in Oslo'],
          ],
        },
        { text: 'The result is: sunny in Rome | noon in Oslo.', finishReason: 'stop', results: [] },
      ]);
    }
  });

  test('a forced tool', async () => {
    const { toolCalls, finishReason } = await generateText(
      ask('anything', { tools: { get_time: { ...tools.get_time, execute: undefined } }, toolChoice: 'required' } as Partial<Request>),
    );
    expect([finishReason, toolCalls.map(({ toolName }) => toolName)]).toEqual(['tool-calls', ['get_time']]);
  });

  test('structured output, plain and streamed', async () => {
    const schema = z.object({ answer: z.number(), sources: z.array(z.string()) });
    const request = ask('some JSON');
    const output = Output.object({ schema });
    expect((await generateObject({ model: request.model, providerOptions, prompt: 'some JSON', schema })).object).toEqual({
      answer: 0,
      sources: [],
    });
    expect((await generateText({ ...request, output })).output).toEqual({ answer: 0, sources: [] });
    expect(await streamText({ ...request, output }).output).toEqual({ answer: 0, sources: [] });
  });

  test('images', async () => {
    const content = [
      { type: 'text' as const, text: 'what is it?' },
      { type: 'file' as const, data: PIXEL, mediaType: 'image/png' },
    ];
    const { text } = await generateText(from('sim-vision', { messages: [{ role: 'user', content }] } as Partial<Request>));
    expect(text).toMatch(/^I see 1 image: image\/png of 70 bytes/);
    const blind = generateText(from('sim-fast', { messages: [{ role: 'user', content }] } as Partial<Request>));
    await expect(blind).rejects.toMatchObject({ statusCode: 400, isRetryable: false });
  });

  test('reasoning', async () => {
    const request = from('sim-reason', { prompt: 'Think', providerOptions: thinking } as Partial<Request>);
    const plain = await generateText(request);
    const streamed = streamText(request);
    expect([plain.reasoningText, await streamed.reasoningText].map((text) => text?.length)).toEqual(
      readsReasoning ? [64, 64] : [undefined, undefined],
    );
    expect([plain.text, readCounts(plain.usage)]).toEqual([await streamed.text, usage(2, 0, 48)]);
    expect(await streamed.text).toHaveLength(128);
  });

  test('the limit of output', async () => {
    const { text, finishReason } = await generateText(ask('Hello [[sim tokens=50]]', { maxOutputTokens: 7 }));
    expect([text.length, finishReason]).toEqual([28, 'length']);
  });

  test('abort: the received content is paid, and the rest of the hold is released [H-9]', async () => {
    const own = await createTenant(administrator);
    const controller = new AbortController();
    const { stream } = streamText(
      ask('Hello [[sim tokens=1500 rate=200]]', { model: model('sim-fast', own.apiKey), abortSignal: controller.signal }),
    );
    const types: string[] = [];
    for await (const part of stream) {
      types.push(part.type);
      if (part.type === 'text-delta') controller.abort();
    }
    expect(types.at(-1)).toBe('abort');
    await untilNoHolds(administrator, own.accountId);
    const { balance_pico_usd: left, reserved_pico_usd: reserved } = await readBalance(gatewayUrl, own.apiKey);
    expect(reserved).toBe('0');
    const spent = 10n ** 13n - BigInt(left);
    expect(spent > 0n && spent < 600_000n * 1_500n).toBe(true);
  });

  test.each([
    ['a wrong key', async () => ({ apiKey: 'tg_live_wrong' }), [401, 'invalid_api_key', 'authentication_error']],
    ['no money', () => createTenant(administrator, { usd: '0' }), [402, 'insufficient_balance', 'billing_error']],
    ['an unknown model', async () => ({ apiKey: tenant.apiKey, id: 'gpt-5' }), [404, 'model_not_found', 'not_found_error']],
  ])('%s: fails at once without a retry [H-5]', async (_name, prepare, [status, ...words]) => {
    const { apiKey, id = 'sim-fast' }: { apiKey: string; id?: string } = await prepare();
    const calls = counting();
    const error = await catchFailure({ model: model(id, apiKey, calls.fetch), providerOptions, prompt: 'x', maxRetries: 2 });
    expect([error.statusCode, error.isRetryable, calls.count()]).toEqual([status, false, 1]);
    expect(words).toContain(readWord(error.data));
  });

  test('too many requests: retryable, with Retry-After', async () => {
    const { apiKey } = await createTenant(administrator, { requestsPerMinuteMax: 1 });
    const request = ask('Hello', { model: model('sim-fast', apiKey) });
    await generateText(request);
    const error = await catchFailure(request);
    expect([error.statusCode, error.isRetryable]).toEqual([429, true]);
    expect(['rate_limit_exceeded', 'rate_limit_error']).toContain(readWord(error.data));
    expect(error.responseHeaders?.['retry-after']).toMatch(/^([1-9]|[1-5]\d|60)$/);
  });

  test('retryable errors are retried after Retry-After [H-4]', async () => {
    const calls = counting();
    const prompt = `Hello ${crypto.randomUUID()} [[sim status=429 retry-after=1 times=1 tokens=2]]`;
    const sole = model('sim-tiny', tenant.apiKey, calls.fetch); // a model with one route
    const { text } = await generateText(ask(prompt, { model: sole, maxOutputTokens: 100, maxRetries: 2 }));
    expect([text.length, calls.count()]).toEqual([8, 2]);
    expect(calls.gapMs()).toBeGreaterThanOrEqual(990);
  });

  test('a failure in the middle of a stream [C-34]', async () => {
    const errors: unknown[] = [];
    const streamed = streamText(
      ask('Hello [[sim tokens=30 error=10]]', { onError: ({ error }: { error: unknown }) => errors.push(error) } as Partial<Request>),
    );
    let text = '';
    for await (const part of streamed.stream) if (part.type === 'text-delta') text += part.text;
    expect([text.length, await streamed.finishReason]).toEqual([40, 'error']);
    expect(errors).toMatchObject([{ message: 'The model failed to produce a response.' }]);
  });
});

test('without store: false the Responses provider refers to stored items, and gets an error with the fix [D12]', async () => {
  const request = { model: createOpenAI({ baseURL, apiKey: tenant.apiKey }).responses('sim-fast'), maxRetries: 0 };
  const first = await generateText({ ...request, prompt: 'Hello' });
  const messages = [
    { role: 'user' as const, content: 'Hello' },
    ...first.response.messages,
    { role: 'user' as const, content: 'And now?' },
  ];
  await expect(generateText({ ...request, messages })).rejects.toMatchObject({
    statusCode: 400,
    data: { error: { code: 'unsupported_parameter', message: expect.stringContaining('store') } },
  });
  const second = await generateText({ ...request, messages, providerOptions: { openai: { store: false } } });
  expect(second.finishReason).toBe('stop');
});

async function catchFailure(request: Request): Promise<APICallError> {
  const error = await generateText(request).catch((cause: unknown) => cause);
  if (!APICallError.isInstance(error)) throw new Error('not an error of a call', { cause: error });
  return error;
}

function readCounts({ inputTokens, inputTokenDetails, outputTokens, totalTokens }: Awaited<ReturnType<typeof generateText>>['usage']) {
  return { inputTokens, cachedTokens: inputTokenDetails.cacheReadTokens, outputTokens, totalTokens };
}

function usage(inputTokens: number, cachedTokens: number, outputTokens: number) {
  return { inputTokens, cachedTokens, outputTokens, totalTokens: inputTokens + outputTokens };
}

function pickResult({ toolName, input, output }: { toolName: string; input?: unknown; output?: unknown }) {
  return [toolName, input, output];
}

/** Error code of a format, or its type if it has no codes. */
function readWord(data: unknown): unknown {
  const { error } = data as { error: { code?: string; type: string } };
  return error.code ?? error.type;
}

/** A fetch that records its calls. */
function counting(): { fetch: Fetch; count(): number; gapMs(): number } {
  const times: number[] = [];
  return {
    fetch: (...given) => {
      times.push(performance.now());
      return fetch(...given);
    },
    count: () => times.length,
    gapMs: () => (times[1] ?? 0) - (times[0] ?? 0),
  };
}

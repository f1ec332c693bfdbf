import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { countTokens, promptTokens } from './reply/usage-rule.js';
import { startSimServer } from './sim-server.js';

const MINUTE_MS = 60_000;

let now = 0;
const sim = await startSimServer({ host: '127.0.0.1', port: 0, now: () => now });
const anthropic = new Anthropic({ baseURL: sim.url, apiKey: 'none', maxRetries: 0 });
const openai = new OpenAI({ baseURL: `${sim.url}/v1`, apiKey: 'none', maxRetries: 0 });
await setDefaults('cache');
beforeEach(() => fetch(`${sim.url}/sim/requests`, { method: 'DELETE' }));
afterAll(() => sim.close());

async function setDefaults(words: string): Promise<void> {
  await fetch(`${sim.url}/sim/defaults`, { method: 'PUT', body: words });
}

const long = (word: string, tokens: number): string => word.padEnd(4, '.').repeat(tokens);

const marked = { cache_control: { type: 'ephemeral' as const } };
const forAnHour = { cache_control: { type: 'ephemeral' as const, ttl: '1h' as const } };

const text = (content: string, marker: object = {}): Anthropic.TextBlockParam => ({ type: 'text', text: content, ...marker });
const user = (...content: Anthropic.ContentBlockParam[]): Anthropic.MessageParam => ({ role: 'user', content });

type Request = Partial<Anthropic.MessageCreateParamsNonStreaming>;

const messagesBody = (request: Request) => ({ model: 'sim-fast', max_tokens: 5, messages: [user(text('Hello'))], ...request });

/** Returns what is read, written for five minutes and for an hour, and neither. */
async function counts(request: Request): Promise<number[]> {
  const { usage } = await anthropic.messages.create(messagesBody(request));
  return readCounts(usage);
}

function readCounts(usage: Anthropic.Usage): number[] {
  const { cache_read_input_tokens: read, cache_creation_input_tokens: written, cache_creation: creation, input_tokens: rest } = usage;
  const { ephemeral_5m_input_tokens: short = NaN, ephemeral_1h_input_tokens: hour = NaN } = creation ?? {};
  expect(written).toBe(short + hour);
  return [read ?? NaN, short, hour, rest];
}

const tool = (name: string, tokens: number, marker: object = {}): Anthropic.Tool => ({
  name,
  description: long('tool', tokens).slice(name.length),
  input_schema: { type: 'object' },
  ...marker,
});
const SCHEMA_TOKENS = countTokens('{"type":"object"}');

test('Messages: tools, system and messages are written in that order, then read', async () => {
  const request = {
    messages: [user(text(long('user', 100), marked), text('Bye!'))],
    system: [text(long('sys', 1_000)), text(long('sys', 500), forAnHour)],
    tools: [tool('a', 2_000), tool('b', 2_000, forAnHour)],
  };
  const tools = 2 * (2_000 + SCHEMA_TOKENS);
  expect(await counts(request)).toEqual([0, 100, tools + 1_500, 1]);
  expect(await counts(request)).toEqual([tools + 1_600, 0, 0, 1]);
  expect(await counts({ ...request, system: [text('New!'), text(long('sys', 500), forAnHour)] })).toEqual([tools, 100, 501, 1]);
});

test('Messages: a stream has the same counts', async () => {
  const request = messagesBody({ messages: [user(text(long('user', 2_000), marked), text('Bye!'))] });
  const streamed = async () => readCounts((await anthropic.messages.stream(request).finalMessage()).usage);
  expect([await streamed(), await streamed()]).toEqual([
    [0, 2_000, 0, 1],
    [2_000, 0, 0, 1],
  ]);
});

test('Messages: the next turn of a loop reads the last one, wherever its markers and in which form its texts are', async () => {
  const first = long('task', 1_500);
  const call = { type: 'tool_use' as const, id: 'call_1', name: 'a', input: { path: 'x' } };
  const result = (marker: object) => ({ type: 'tool_result' as const, tool_use_id: 'call_1', content: long('out', 300), ...marker });
  const rest = { tools: [tool('a', 100)], system: long('sys', 50) };
  const start = 100 + SCHEMA_TOKENS + 50;
  expect(await counts({ ...rest, messages: [user(text(first, marked))] })).toEqual([0, start + 1_500, 0, 0]);
  const turn = [{ role: 'assistant' as const, content: [text('Let me see. '), call] }, user(result(marked))];
  const called = 3 + countTokens('a{"path":"x"}');
  expect(await counts({ ...rest, messages: [user(text(first, marked)), ...turn] })).toEqual([start + 1_500, called + 300, 0, 0]);
  const history = [user(text(first)), turn[0] as Anthropic.MessageParam, user(result({}))];
  const next = [{ role: 'assistant' as const, content: 'Done' }, user(text('More', marked))];
  const last = [{ role: 'user' as const, content: first }, ...history.slice(1), ...next];
  expect(await counts({ ...rest, system: [text(long('sys', 50))], messages: last })).toEqual([start + 1_800 + called, 2, 0, 0]);
});

test('Messages: the counts are those of the prompt rule, also where a text goes on behind a marker', async () => {
  const messages = [user(text(`${long('a', 1_024)}b`, marked), text('c'))];
  expect(await counts({ messages })).toEqual([0, 1_025, 0, 0]);
  expect(promptTokens({ messages: [{ role: 'user', content: `${long('a', 1_024)}bc` }] })).toBe(1_025);
});

test('Messages: a schema of the reply is never part of a cached prefix', async () => {
  const output_config = { format: { type: 'json_schema' as const, schema: { type: 'object', properties: {} } } };
  const request = { messages: [user(text(long('user', 2_000), marked))], output_config };
  const schema = countTokens(JSON.stringify(output_config.format.schema));
  expect(await counts(request)).toEqual([0, 2_000, 0, schema]);
  expect(await counts(request)).toEqual([2_000, 0, 0, schema]);
});

test('Messages: other models, roles and borders of messages are other prefixes', async () => {
  const words = long('user', 2_000);
  await counts({ messages: [user(text(words), text('Bye!', marked))] });
  expect(await counts({ model: 'sim-vision', messages: [user(text(words), text('Bye!', marked))] })).toEqual([0, 2_001, 0, 0]);
  expect(await counts({ system: words, messages: [user(text('Bye!', marked))] })).toEqual([0, 2_001, 0, 0]);
});

test('Messages: an entry ends with its time, and with the recorded requests', async () => {
  const request = { messages: [user(text(long('user', 2_000), marked))] };
  const read = async (minutes: number) => {
    now += minutes * MINUTE_MS;
    return (await counts(request))[0];
  };
  expect([await read(0), await read(4), await read(4), await read(5)]).toEqual([0, 2_000, 2_000, 0]);
  await fetch(`${sim.url}/sim/requests`, { method: 'DELETE' });
  expect(await read(0)).toBe(0);
});

test('Messages: without markers, without the directive and with stated counts there is no cache', async () => {
  const request = { messages: [user(text(long('user', 2_000), marked))] };
  expect(await counts({ messages: [user(text(long('user', 2_000)))] })).toEqual([0, 0, 0, 2_000]);
  await setDefaults('cache ignore=cache-control');
  expect(await counts(request)).toEqual([0, 0, 0, 2_000]);
  await setDefaults('cache cached=7 written=2');
  expect(await counts(request)).toEqual([7, 2, 0, 1_991]);
  await setDefaults('');
  const { usage } = await anthropic.messages.create(messagesBody(request));
  expect(usage).toEqual({ input_tokens: 2_000, cache_read_input_tokens: 0, cache_creation_input_tokens: 0, output_tokens: 5 });
  await setDefaults('cache');
  expect(await counts(request)).toEqual([0, 2_000, 0, 0]);
});

const MAX = 'A maximum of 4 blocks with cache_control may be provided. Found 5.';
const ORDER =
  "messages.0.content.0.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. " +
  'Note that blocks are processed in the following order: `tools`, `system`, `messages`.';
const withControl = (control: unknown) => ({ messages: [user(text('Hello', { cache_control: control }))] });

test.each<[what: string, request: object, message: string]>([
  ['five markers', { messages: [user(...Array.from({ length: 5 }, () => text('Hello', marked)))] }, MAX],
  ['an hour behind five minutes', { tools: [tool('a', 5, marked)], messages: [user(text('Hello', forAnHour))] }, ORDER],
  [
    'thinking',
    { messages: [user(text('Hello')), { role: 'assistant', content: [{ type: 'thinking', thinking: 'Hm', signature: 's', ...marked }] }] },
    'messages.1.content.0.thinking.cache_control: Extra inputs are not permitted',
  ],
  ['an empty text', { messages: [user(text('', marked))] }, 'messages.0.content.0.text: cache_control cannot be set for empty text blocks'],
  [
    'another time',
    withControl({ type: 'ephemeral', ttl: '2h' }),
    "messages.0.content.0.cache_control.ephemeral.ttl: Input should be '5m' or '1h'",
  ],
  [
    'another type',
    withControl({ type: 'lasting' }),
    "messages.0.content.0.cache_control: Input tag 'lasting' found using 'type' does not match any of the expected tags: 'ephemeral'",
  ],
  [
    'another field',
    withControl({ type: 'ephemeral', scope: 'global' }),
    'messages.0.content.0.cache_control.ephemeral.scope: Extra inputs are not permitted',
  ],
  ['a text', withControl('ephemeral'), 'messages.0.content.0.cache_control: Input should be an object'],
])('Messages: a marker that the vendor refuses is a 400 in its words: %s', async (_what, request, message) => {
  const body = JSON.stringify(messagesBody(request));
  const response = await fetch(`${sim.url}/v1/messages`, { method: 'POST', body });
  expect([response.status, await response.json()]).toEqual([400, { type: 'error', error: { type: 'invalid_request_error', message } }]);
});

test('Messages: null is no marker', async () => {
  expect(await counts({ messages: [user(text(long('user', 2_000), { cache_control: null }))] })).toEqual([0, 0, 0, 2_000]);
});

const IMAGE = { type: 'image_url' as const, image_url: { url: 'data:image/png;base64,AA==' } };

/** Returns the cached tokens of a prompt in chat or Responses, plain and streamed by turns. */
type Ask = (words: string, rest?: object) => Promise<number | undefined>;

const ask: Record<string, Ask> = {
  chat: async (words, rest = {}) => {
    const messages = [{ role: 'user' as const, content: words }];
    const { usage } = await openai.chat.completions.create({ model: 'sim-fast', messages, ...rest });
    expect(usage?.prompt_tokens).toBe(countTokens(words));
    expect(usage).not.toHaveProperty('cache_creation');
    return usage?.prompt_tokens_details?.cached_tokens;
  },
  'chat, streamed': async (words, rest = {}) => {
    const messages = [{ role: 'user' as const, content: words }];
    const stream = openai.chat.completions.stream({ model: 'sim-fast', messages, stream_options: { include_usage: true }, ...rest });
    return (await stream.finalChatCompletion()).usage?.prompt_tokens_details?.cached_tokens;
  },
  Responses: async (words, rest = {}) => {
    const { usage } = await openai.responses.create({ model: 'sim-fast', input: words, ...rest });
    expect(usage?.input_tokens).toBe(countTokens(words));
    return usage?.input_tokens_details.cached_tokens;
  },
};

describe.each(Object.keys(ask))('%s:', (dialect) => {
  const cached = ask[dialect] as Ask;

  test('from 1,024 tokens on, in steps of 128, the same start is read', async () => {
    expect([await cached(long('a', 1_023)), await cached(long('a', 1_023))]).toEqual([0, 0]);
    expect([await cached(long('a', 1_024)), await cached(long('a', 1_024))]).toEqual([0, 1_024]);
    expect([await cached(long('a', 1_300)), await cached(long('a', 9_000))]).toEqual([1_024, 1_280]);
    expect(await cached(long('a', 1_200) + long('b', 900))).toBe(1_152);
  });

  test('prompts with another key or salt share nothing', async () => {
    const words = long('a', 2_000);
    const requests = [{}, { prompt_cache_key: 'k'.repeat(64) }, { cache_salt: 'k'.repeat(43) }, { prompt_cache_key: 'other' }];
    const asked = async () => {
      const counted: unknown[] = [];
      for (const rest of requests) counted.push(await cached(words, rest));
      return counted;
    };
    expect([await asked(), await asked()]).toEqual([
      [0, 0, 0, 0],
      [1_920, 1_920, 1_920, 1_920],
    ]);
  });

  test('a server that ignores key and salt reads what others have written', async () => {
    await setDefaults('cache ignore=prompt-cache-key,cache-salt');
    const words = long('a', 2_000);
    expect([await cached(words, { prompt_cache_key: 'a' }), await cached(words, { cache_salt: 'b' })]).toEqual([0, 1_920]);
    await setDefaults('cache');
  });
});

test('chat: roles, tools, schemas and images are part of the prefix', async () => {
  const words = long('a', 2_000);
  const image = (url: string) => ({ ...IMAGE, image_url: { url } });
  const requests: Partial<OpenAI.ChatCompletionCreateParamsNonStreaming>[] = [
    { messages: [{ role: 'user', content: words }] },
    { messages: [{ role: 'system', content: words }] },
    { messages: [{ role: 'user', content: words }], tools: [{ type: 'function', function: { name: 'a' } }] },
    {
      messages: [{ role: 'user', content: words }],
      response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'object' } } },
    },
    ...['AAAA', 'AAAB'].map((data) => ({
      model: 'sim-vision',
      messages: [
        { role: 'user' as const, content: [image(`data:image/png;base64,${data}`)] },
        { role: 'user' as const, content: words },
      ],
    })),
  ];
  const asked = async () => {
    const counted: unknown[] = [];
    for (const request of requests) {
      const { usage } = await openai.chat.completions.create({ model: 'sim-fast', messages: [], ...request });
      counted.push(usage?.prompt_tokens_details?.cached_tokens);
    }
    return counted;
  };
  expect([await asked(), await asked()]).toEqual([
    [0, 0, 0, 0, 0, 0],
    [1_920, 1_920, 1_920, 1_920, 2_176, 2_176],
  ]);
});

test.each<[string, object, string]>([
  ['a key of 65 characters', { prompt_cache_key: 'k'.repeat(65) }, 'prompt_cache_key'],
  ['a key that is no text', { prompt_cache_key: 7 }, 'prompt_cache_key'],
  ['an empty salt', { cache_salt: '' }, 'cache_salt'],
  ['a salt that is no text', { cache_salt: 7 }, 'cache_salt'],
])('%s is a 400 that names the field', async (_what, rest, param) => {
  const refused = { status: 400, param };
  await expect(ask.chat?.('Hello', rest)).rejects.toMatchObject(refused);
  await expect(ask.Responses?.('Hello', rest)).rejects.toMatchObject(refused);
});

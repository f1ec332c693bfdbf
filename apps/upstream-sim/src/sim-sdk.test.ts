import OpenAI from 'openai';
import { completionTokens, promptTokens } from './reply/usage-rule.js';
import { startSimServer } from './sim-server.js';

const sim = await startSimServer({ host: '127.0.0.1', port: 0 });
const client = new OpenAI({ baseURL: `${sim.url}/v1`, apiKey: 'none', maxRetries: 0 });
afterAll(() => sim.close());

const user = (content: string) => ({ role: 'user' as const, content });

test('the official client reads plain replies, and the usage rule gives their usage', async () => {
  const messages = [{ role: 'system' as const, content: 'Be brief.' }, user('hello [[sim tokens=7 reasoning=2]]')];
  const { choices, usage } = await client.chat.completions.create({ model: 'sim-reason', messages });
  const message = choices[0]?.message as unknown as { content: string; reasoning_content: string };
  expect(usage).toMatchObject({
    prompt_tokens: promptTokens({ messages }),
    completion_tokens: completionTokens({ text: message.content, reasoning: message.reasoning_content }),
  });
});

test('the official client reads streams', async () => {
  const stream = client.chat.completions.stream({ model: 'sim-fast', messages: [user('hello')], stream_options: { include_usage: true } });
  const final = await stream.finalChatCompletion();
  const plain = await client.chat.completions.create({ model: 'sim-fast', messages: [user('hello')] });
  expect([final.choices[0]?.message.content, final.usage]).toEqual([plain.choices[0]?.message.content, plain.usage]);
});

test('a refusal is a field of its own, plain and streamed', async () => {
  const request = { model: 'sim-fast', messages: [user('[[sim refusal="I cannot help."]]')] };
  const plain = (await client.chat.completions.create(request)).choices[0];
  const streamed = (await client.chat.completions.stream(request).finalChatCompletion()).choices[0];
  const said = { content: null, refusal: 'I cannot help.' };
  expect([plain?.finish_reason, streamed?.finish_reason]).toEqual(['stop', 'stop']);
  expect(plain?.message).toMatchObject(said);
  expect({ ...streamed?.message, content: streamed?.message.content || null }).toMatchObject(said);
});

test.each(['', '[[sim interleave chunk=2]]'])('the official client runs tools to the end %s', async (directive) => {
  const asked: string[] = [];
  const tool = (name: string) => ({
    type: 'function' as const,
    function: {
      name,
      description: '',
      parse: JSON.parse,
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
      function: ({ city }: { city: string }) => {
        asked.push(`${name} ${city}`);
        return `${name} is fine`;
      },
    },
  });
  const runner = client.chat.completions.runTools({
    model: 'sim-fast',
    stream: true,
    messages: [user(`call weather {"city":"Rome"}, call traffic ${directive}`)],
    tools: [tool('weather'), tool('traffic')],
  });
  expect([await runner.finalContent(), asked]).toEqual([
    'The result is: weather is fine | traffic is fine.',
    ['weather Rome', 'traffic sim'],
  ]);
});

test.each([
  [401, OpenAI.AuthenticationError],
  [404, OpenAI.NotFoundError],
  [429, OpenAI.RateLimitError],
  [503, OpenAI.InternalServerError],
])('the official client throws the right error for status %d', async (status, kind) => {
  await expect(client.chat.completions.create({ model: 'sim-fast', messages: [user(`[[sim status=${status}]]`)] })).rejects.toThrow(kind);
});

test('embeddings: a vector depends on its input alone, and a shorter one is its beginning', async () => {
  const model = 'sim-embed';
  const both = await client.embeddings.create({ model, input: ['hello', 'world'] });
  const one = await client.embeddings.create({ model, input: 'world', dimensions: 3, encoding_format: 'float' });
  expect([both.usage, both.data.map(({ embedding }) => embedding.length)]).toEqual([{ prompt_tokens: 4, total_tokens: 4 }, [256, 256]]);
  expect(one.data[0]?.embedding).toEqual(both.data[1]?.embedding.slice(0, 3));
});

test.each([
  [400, { input: '' }],
  [400, { input: Array(2_049).fill('a') }],
  [400, { input: 'a', dimensions: 257 }],
  [404, { input: 'a', model: 'sim-fast' }],
  [503, { input: '[[sim status=503]]' }],
])('embeddings: refused with %d: %j', async (status, request) => {
  await expect(client.embeddings.create({ model: 'sim-embed', ...request })).rejects.toMatchObject({ status });
});

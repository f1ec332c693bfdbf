import Anthropic from '@anthropic-ai/sdk';
import { startSimServer } from '../../sim-server.js';

const sim = await startSimServer({ host: '127.0.0.1', port: 0, apiKey: 'secret' });
const client = new Anthropic({ baseURL: sim.url, apiKey: 'secret', maxRetries: 0 });
afterAll(() => sim.close());

const tools = ['a', 'b'].map((name) => ({ name, input_schema: { type: 'object' as const } }));

test.each([
  'Think [[sim reasoning=3 cached=2]]',
  'call a {"x":1}, call b',
  'call a {"x":1}, call b {"y":[2]} [[sim tokens=2 interleave]]',
  '[[sim tokens=40]]',
  '[[sim refusal="I cannot help with that."]]',
])('the official client reads the same from a stream as from a plain reply, with the usage of chat: %s', async (content) => {
  const messages = [{ role: 'user' as const, content }];
  const request = { model: 'sim-fast', max_tokens: 20, messages, tools };
  const plain = await client.messages.create(request);
  const streamed = await client.messages.stream(request).finalMessage();
  const saying = ({ content: blocks, stop_reason, usage }: Anthropic.Message) => [
    blocks.map((block) => (block.type === 'thinking' ? { ...block, signature: '' } : block)),
    stop_reason,
    usage.output_tokens,
    usage.input_tokens,
  ];
  expect(saying(streamed)).toEqual(saying(plain));
  const chatTools = tools.map(({ name, input_schema: parameters }) => ({ type: 'function', function: { name, parameters } }));
  const body = JSON.stringify({ model: 'sim-fast', max_tokens: 20, messages, tools: chatTools });
  const reply = await fetch(`${sim.url}/v1/chat/completions`, { method: 'POST', headers: { authorization: 'Bearer secret' }, body });
  const { usage } = (await reply.json()) as { usage: { prompt_tokens: number; completion_tokens: number } };
  const { input_tokens: input, cache_read_input_tokens: cached, output_tokens: output } = plain.usage;
  expect([input + (cached ?? 0), output]).toEqual([usage.prompt_tokens, usage.completion_tokens]);
});

test('arguments keep every digit of their numbers', async () => {
  const messages = [{ role: 'user' as const, content: 'call a {"x":12345678901234567890}' }];
  const reply = await client.messages.create({ model: 'sim-fast', max_tokens: 20, messages, tools }).asResponse();
  expect(await reply.text()).toContain('"input":{"x":12345678901234567890}');
});

test('interleave opens all calls, then sends a piece of each in turn', async () => {
  const messages = [{ role: 'user' as const, content: 'call a {"x":1} call b {"x":1} [[sim tokens=1 interleave]]' }];
  const seen: string[] = [];
  for await (const event of await client.messages.create({ model: 'sim-fast', max_tokens: 20, messages, tools, stream: true })) {
    if ('index' in event) seen.push(`${event.type.slice('content_block_'.length)} ${event.index}`);
  }
  expect(seen.join(', ')).toBe('start 0, delta 0, stop 0, start 1, start 2, delta 1, delta 2, delta 1, delta 2, stop 1, stop 2');
});

test.each([
  ['roles out of turn', { messages: [{ role: 'assistant', content: 'Hi' }] }],
  ['a blank stop sequence', { stop_sequences: ['\n'] }],
  ['a blank text', { messages: [{ role: 'user', content: ' ' }] }],
])('refuses %s', async (_what, over) => {
  const request = { model: 'sim-fast', max_tokens: 5, messages: [{ role: 'user', content: 'Hi' }], ...over };
  await expect(client.messages.create(request as never)).rejects.toThrow(Anthropic.BadRequestError);
});

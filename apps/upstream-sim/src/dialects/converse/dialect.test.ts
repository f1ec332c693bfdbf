import { startSimServer } from '../../sim-server.js';

const sim = await startSimServer({ host: '127.0.0.1', port: 0, apiKey: 'secret' });
afterAll(() => sim.close());

type Json = Record<string, unknown>;

const NAMES = ['a', 'b'];
const toolConfig = { tools: NAMES.map((name) => ({ toolSpec: { name, inputSchema: { json: { type: 'object' } } } })) };

function post(path: string, body: unknown, key = 'secret'): Promise<Response> {
  return fetch(`${sim.url}/model/${path}`, { method: 'POST', headers: { authorization: `Bearer ${key}` }, body: JSON.stringify(body) });
}

const says = (text: string) => ({ messages: [{ role: 'user', content: [{ text }] }], inferenceConfig: { maxTokens: 20 } });

/** Returns the events of a stream by name, as AWS describes its frames. */
async function readFrames(response: Response): Promise<[name: string, fields: Json][]> {
  const bytes = Buffer.from(await response.arrayBuffer());
  const events: [string, Json][] = [];
  for (let at = 0; at < bytes.length; at += bytes.readUInt32BE(at)) {
    const [end, payloadAt] = [at + bytes.readUInt32BE(at), at + 12 + bytes.readUInt32BE(at + 4)];
    const [, name = ''] = /:(?:event|exception)-type.{3}(\w+)/s.exec(bytes.toString('latin1', at + 12, payloadAt)) ?? [];
    events.push([name, JSON.parse(bytes.toString('utf8', payloadAt, end - 4)) as Json]);
  }
  return events;
}

/** Builds the plain reply that the events of a stream amount to. */
function fold(events: [name: string, fields: Json][]): Json {
  const content: Json[] = [];
  const reply: Json = {};
  for (const [name, { contentBlockIndex, start, delta, ...fields }] of events) {
    const index = contentBlockIndex as number;
    const { text, toolUse, reasoningContent } = (delta ?? {}) as Record<string, string & Record<string, string>>;
    if (name === 'contentBlockStart') content[index] = { toolUse: { ...(start as { toolUse: Json }).toolUse, input: '' } };
    else if (text !== undefined) content[index] = { text: `${content[index]?.text ?? ''}${text}` };
    else if (toolUse !== undefined) (content[index] as { toolUse: { input: string } }).toolUse.input += toolUse.input;
    else if (reasoningContent !== undefined) content[index] = { thought: `${content[index]?.thought ?? ''}${reasoningContent.text}` };
    else if (name === 'messageStop' || name === 'metadata') Object.assign(reply, fields);
  }
  return { ...reply, content };
}

function flatten({ output, ...reply }: Json): Json {
  const { content } = (output as { message: { content: Json[] } }).message;
  return {
    ...reply,
    content: content.map(({ toolUse, reasoningContent, ...block }) => {
      if (toolUse) return { toolUse: { ...toolUse, input: JSON.stringify((toolUse as Json).input) } };
      return reasoningContent ? { thought: (reasoningContent as { reasoningText: Json }).reasoningText.text } : block;
    }),
  };
}

test.each([
  'Think [[sim reasoning=3 cached=2]]',
  'call a {"x":1}, call b {"y":[2]}',
  'call a {"x":1}, call b {"y":[2]} [[sim tokens=2 interleave]]',
  '[[sim tokens=40]]',
  '[[sim say="It begins" finish=content_filter]]',
])('a stream says the same as a plain reply, with the usage of chat: %s', async (text) => {
  const body = { ...says(text), toolConfig };
  const plain = (await (await post('sim-fast/converse', body)).json()) as Json;
  const streamed = await post('sim-fast/converse-stream', body);
  expect(streamed.headers.get('content-type')).toBe('application/vnd.amazon.eventstream');
  expect(fold(await readFrames(streamed))).toEqual(flatten(plain));
  const tools = NAMES.map((name) => ({ type: 'function', function: { name, parameters: { type: 'object' } } }));
  const chat = { model: 'sim-fast', max_tokens: 20, messages: [{ role: 'user', content: text }], tools };
  const init = { method: 'POST', headers: { authorization: 'Bearer secret' }, body: JSON.stringify(chat) };
  const { usage } = (await (await fetch(`${sim.url}/v1/chat/completions`, init)).json()) as { usage: Record<string, number> };
  const { inputTokens, cacheReadInputTokens, outputTokens } = plain.usage as Record<string, number>;
  expect([Number(inputTokens) + Number(cacheReadInputTokens), outputTokens]).toEqual([usage.prompt_tokens, usage.completion_tokens]);
});

test('a stream that fails ends with an exception', async () => {
  const events = await readFrames(await post('sim-fast/converse-stream', says('[[sim say="One two three" error=1]]')));
  expect(events.at(-1)).toEqual(['modelStreamErrorException', { message: 'The engine failed while generating.' }]);
});

test('a cache point makes a prompt that is read the next time', async () => {
  const point = { cachePoint: { type: 'default' } };
  const text = `${'word '.repeat(3_000)}[[sim cache tokens=2]]`;
  const body = { messages: [{ role: 'user', content: [{ text }, point] }] };
  const usages = [];
  for (const _ of [1, 2]) usages.push(((await (await post('sim-fast/converse', body)).json()) as { usage: Json }).usage);
  const [first, second] = usages as Record<string, number>[];
  expect([first?.cacheReadInputTokens, second?.cacheWriteInputTokens]).toEqual([0, 0]);
  expect(first?.cacheWriteInputTokens).toBe(second?.cacheReadInputTokens);
  expect(first?.cacheWriteInputTokens).toBeGreaterThan(3_000);
});

const used = { role: 'assistant', content: [{ toolUse: { toolUseId: 'a', name: 'a', input: {} } }] };

test.each<[string, Json]>([
  ['a conversation that the model begins', { messages: [{ role: 'assistant', content: [{ text: 'Hi' }] }] }],
  ['a blank text', says(' ')],
  ['a message without content', { messages: [{ role: 'user', content: [] }] }],
  ['a block of two members', { messages: [{ role: 'user', content: [{ text: 'Hi', image: {} }] }] }],
  ['calls without tools', { messages: [...says('Hi').messages, used] }],
  ['no tools where they are named', { ...says('Hi'), toolConfig: { tools: [] } }],
  [
    'a result with an id of other characters',
    { messages: [{ role: 'user', content: [{ toolResult: { toolUseId: 'a b', content: [{ text: 'x' }] } }] }], toolConfig },
  ],
  ['a result without content', { messages: [{ role: 'user', content: [{ toolResult: { toolUseId: 'a', content: [] } }] }], toolConfig }],
  ['a cache point in front', { messages: [{ role: 'user', content: [{ cachePoint: { type: 'default' } }, { text: 'Hi' }] }] }],
  ['no messages', {}],
])('refuses %s', async (_what, body) => {
  const reply = await post('sim-fast/converse', body);
  expect([reply.status, await reply.json()]).toMatchObject([400, { __type: 'ValidationException' }]);
});

test('answers a wrong key and an unknown model as AWS does', async () => {
  const replies = [await post('sim-fast/converse', says('Hi'), 'other'), await post('sim-none/converse', says('Hi'))];
  expect(await Promise.all(replies.map(async (reply) => [reply.status, ((await reply.json()) as Json).__type]))).toEqual([
    [401, 'UnrecognizedClientException'],
    [404, 'ResourceNotFoundException'],
  ]);
});

import { startSimServer } from '../../sim-server.js';

const sim = await startSimServer({ host: '127.0.0.1', port: 0, apiKey: 'secret' });
afterAll(() => sim.close());

type Json = Record<string, unknown>;

const NAMES = ['a', 'b'];
const tools = [{ functionDeclarations: NAMES.map((name) => ({ name, parametersJsonSchema: { type: 'object' } })) }];

function post(path: string, body: unknown, headers: Record<string, string> = { 'x-goog-api-key': 'secret' }): Promise<Response> {
  return fetch(`${sim.url}/v1beta/models/${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
}

const says = (text: string) => ({ contents: [{ role: 'user', parts: [{ text }] }] });
const CONFIG = { generationConfig: { maxOutputTokens: 20, thinkingConfig: { includeThoughts: true } } };

interface Chunk {
  candidates: [{ content: { parts: Json[] }; finishReason?: string }];
  usageMetadata?: Json;
}

/** Joins neighbouring texts of one kind. */
function fold(chunks: Chunk[]): unknown[] {
  const parts: Json[] = [];
  for (const part of chunks.flatMap(({ candidates: [{ content }] }) => content.parts)) {
    const last = parts.at(-1);
    if (typeof part.text === 'string' && typeof last?.text === 'string' && last.thought === part.thought) last.text += part.text;
    else if (part.text !== '') parts.push({ ...part });
  }
  return [parts, chunks.at(-1)?.candidates[0].finishReason, chunks.at(-1)?.usageMetadata];
}

test.each([
  'Think [[sim reasoning=3 cached=2]]',
  'call a {"x":1}, call b',
  '[[sim tokens=40]]',
  '[[sim refusal="I cannot help with that."]]',
])('a stream says the same as a plain reply, with the usage of chat: %s', async (text) => {
  const body = { ...says(text), tools, ...CONFIG };
  const plain = (await (await post('sim-fast:generateContent', body)).json()) as Chunk;
  const events = (await (await post('sim-fast:streamGenerateContent?alt=sse', body)).text()).trim().split('\n\n');
  const chunks = events.map((event) => JSON.parse(event.slice('data: '.length)) as Chunk);
  expect(fold(chunks)).toEqual(fold([plain]));
  const chatTools = NAMES.map((name) => ({ type: 'function', function: { name, parameters: { type: 'object' } } }));
  const chat = { model: 'sim-fast', max_tokens: 20, messages: [{ role: 'user', content: text }], tools: chatTools };
  const init = { method: 'POST', headers: { authorization: 'Bearer secret' }, body: JSON.stringify(chat) };
  const { usage } = (await (await fetch(`${sim.url}/v1/chat/completions`, init)).json()) as { usage: Record<string, number> };
  const { promptTokenCount, candidatesTokenCount, thoughtsTokenCount = 0, totalTokenCount } = plain.usageMetadata as Record<string, number>;
  expect([promptTokenCount, (candidatesTokenCount ?? 0) + thoughtsTokenCount, totalTokenCount]).toEqual([
    usage.prompt_tokens,
    usage.completion_tokens,
    usage.total_tokens,
  ]);
});

test('thoughts are counted and not shown unless they are asked for', async () => {
  const reply = (await (await post('sim-fast:generateContent', says('[[sim think="Hm, yes." say="Sure."]]'))).json()) as Chunk;
  expect(reply.candidates[0].content.parts).toEqual([{ text: 'Sure.' }]);
  expect(reply.usageMetadata).toMatchObject({ candidatesTokenCount: 2, thoughtsTokenCount: 2 });
});

test('the signature of a call is accepted with the call alone', async () => {
  const first = (await (await post('sim-fast:generateContent', { ...says('call a {"x":1}'), tools })).json()) as Chunk;
  const [call] = first.candidates[0].content.parts as [Json];
  const follow = (thoughtSignature: unknown) => ({
    contents: [
      ...says('call a').contents,
      { role: 'model', parts: [{ ...call, thoughtSignature }] },
      { role: 'user', parts: [{ functionResponse: { name: 'a', response: { output: 'ok' } } }] },
    ],
    tools,
  });
  const statuses = [call.thoughtSignature, undefined, 'skip_thought_signature_validator', 'b3RoZXI='].map(
    async (signature) => (await post('sim-fast:generateContent', follow(signature))).status,
  );
  expect(await Promise.all(statuses)).toEqual([200, 200, 200, 400]);
});

test.each<[string, Json]>([
  ['a conversation that the model begins', { contents: [{ role: 'model', parts: [{ text: 'Hi' }] }] }],
  ['an empty part', { contents: [{ role: 'user', parts: [{ text: '' }] }] }],
  ['a result without its call', { contents: [{ role: 'user', parts: [{ functionResponse: { name: 'a', response: {} } }] }] }],
  ['six stop sequences', { ...says('Hi'), generationConfig: { stopSequences: ['a', 'b', 'c', 'd', 'e', 'f'] } }],
  ['no contents', {}],
])('refuses %s', async (_what, body) => {
  const reply = await post('sim-fast:generateContent', body);
  expect([reply.status, await reply.json()]).toMatchObject([400, { error: { code: 400, status: 'INVALID_ARGUMENT' } }]);
});

test.each<[string, string, Record<string, string>, number, string]>([
  ['a wrong key', 'sim-fast', { 'x-goog-api-key': 'other' }, 401, 'UNAUTHENTICATED'],
  ['an unknown model', 'sim-none', { authorization: 'Bearer secret' }, 404, 'NOT_FOUND'],
])('answers %s as Google does', async (_what, model, headers, code, status) => {
  const reply = await post(`${model}:generateContent`, says('Hi'), headers);
  expect([reply.status, await reply.json()]).toMatchObject([code, { error: { code, status } }]);
});

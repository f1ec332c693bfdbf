import { startSimServer } from './sim-server.js';

/** Directives that make a reply like those of odd servers, as the bytes that they are. */

const sim = await startSimServer({ host: '127.0.0.1', port: 0 });
afterAll(() => sim.close());

type Json = Record<string, unknown>;
type Dialect = 'chat/completions' | 'responses' | 'messages';

const PARAMETERS = { type: 'object' };
const TOOLS: Record<Dialect, Json> = {
  'chat/completions': { type: 'function', function: { name: 'run', parameters: PARAMETERS } },
  responses: { type: 'function', name: 'run', parameters: PARAMETERS },
  messages: { name: 'run', input_schema: PARAMETERS },
};

function post(dialect: Dialect, text: string, rest: Json = {}, init: RequestInit = {}): Promise<Response> {
  const asked = dialect === 'responses' ? { input: text } : { messages: [{ role: 'user', content: text }] };
  const cap = dialect === 'messages' ? { max_tokens: 1_000 } : {};
  const body = JSON.stringify({ model: 'sim-fast', tools: [TOOLS[dialect]], stream: true, ...asked, ...cap, ...rest });
  return fetch(`${sim.url}/v1/${dialect}`, { method: 'POST', body, ...init });
}

/** Returns the data lines of each event. */
async function readEvents(dialect: Dialect, text: string): Promise<string[][]> {
  const frames = (await (await post(dialect, text)).text()).split('\n\n').slice(0, -1);
  return frames.map((frame) => frame.split('\n').flatMap((line) => (line.startsWith('data: ') ? [line.slice('data: '.length)] : [])));
}

/** Returns the pieces of arguments in a stream, and null for each start of a call. */
async function readPieces(dialect: Dialect, directives: string): Promise<(string | null)[]> {
  const events = await readEvents(dialect, `call run {"a":1} [[sim chunk=1 ${directives}]]`);
  return events.flatMap(([line = '']) => {
    const event = (line === '[DONE]' ? {} : JSON.parse(line)) as Json;
    const {
      choices = [],
      type,
      delta,
      item,
    } = event as { choices?: { delta: { tool_calls?: Json[] } }[]; type?: string; delta?: unknown; item?: Json };
    const call = choices[0]?.delta.tool_calls?.[0];
    if (call !== undefined) return [call.id === undefined ? (call.function as { arguments: string }).arguments : null];
    if (type === 'content_block_start' || type === 'response.output_item.added') return [null];
    if (type === 'content_block_delta') return [(delta as { partial_json: string }).partial_json];
    if (type === 'response.function_call_arguments.delta') return [delta as string];
    return type === 'response.output_item.done' ? [`whole ${item?.arguments as string}`] : [];
  });
}

const TEXT = '{"a":1}';
const PIECES = ['{"a"', ':1}'];
const ENCODED = JSON.stringify(TEXT);

test.each<[directives: string, pieces: string[], last: string]>([
  ['', PIECES, TEXT],
  ['arguments=twice', [...PIECES, TEXT], TEXT],
  ['arguments=cumulated', ['{"a"', TEXT], TEXT],
  ['arguments=braces', ['{}', ...PIECES], TEXT],
  ['arguments=encoded', [...PIECES, ENCODED], ENCODED],
  ['arguments=braces,twice', ['{}', ...PIECES, TEXT], TEXT],
])('%j: the pieces of the arguments', async (directives, pieces, last) => {
  expect(await readPieces('chat/completions', directives)).toEqual([null, ...pieces]);
  expect(await readPieces('messages', directives)).toEqual([null, ...pieces]);
  expect(await readPieces('responses', directives)).toEqual([null, ...pieces, `whole ${last}`]);
});

test('repeat: the call comes again', async () => {
  expect(await readPieces('chat/completions', 'repeat')).toEqual([null, ...PIECES, null]);
  expect(await readPieces('messages', 'repeat')).toEqual([null, ...PIECES, null]);
  expect(await readPieces('responses', 'repeat')).toEqual([null, ...PIECES, `whole ${TEXT}`, `whole ${TEXT}`]);
  const plain = (await (await post('chat/completions', 'call run [[sim repeat]]', { stream: false })).json()) as {
    choices: [{ message: { tool_calls: Json[] } }];
  };
  const [one, other, ...rest] = plain.choices[0].message.tool_calls;
  expect({ other, rest }).toEqual({ other: one, rest: [] });
});

/** Returns the last event, each line by its type. */
async function readLast(dialect: Dialect, directives: string): Promise<unknown[] | undefined> {
  const events = await readEvents(dialect, `Hello [[sim tokens=3 ${directives}]]`);
  return events.at(-1)?.map((line) => {
    if (line === '[DONE]') return line;
    const { type, choices, error } = JSON.parse(line) as { type?: string; choices?: { finish_reason: string | null }[]; error?: Json };
    return type ?? (error === undefined ? choices?.[0]?.finish_reason : 'error');
  });
}

test.each<[string, unknown, unknown, unknown]>([
  ['', ['[DONE]'], ['message_stop'], ['response.completed']],
  ['nodone', ['stop'], ['message_delta'], ['response.output_item.done']],
  ['joined', ['stop', '[DONE]'], ['message_delta', 'message_stop'], ['response.completed', '[DONE]']],
  ['joined nodone', ['stop'], ['message_delta'], ['response.output_item.done']],
  ['error=1', ['[DONE]'], ['error'], ['error']],
  ['error=1 joined', ['error', '[DONE]'], ['error', 'message_stop'], ['error', '[DONE]']],
])('%j: the last event', async (directives, chat, messages, responses) => {
  expect(await readLast('chat/completions', directives)).toEqual(chat);
  expect(await readLast('messages', directives)).toEqual(messages);
  expect(await readLast('responses', directives)).toEqual(responses);
});

test.each([
  [true, /data: \[DONE\]\n\n: keep-alive\n\n/],
  [false, /\}\n\n/],
])('open keeps the connection open after the end: stream %p', async (stream, pattern) => {
  const leaving = new AbortController();
  const response = await post('chat/completions', 'Hello [[sim open=1]]', { stream }, { signal: leaving.signal });
  let text = '';
  for await (const part of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += new TextDecoder().decode(part);
    if (pattern.test(text)) break;
  }
  leaving.abort();
  expect(text).toMatch(pattern);
});

test.each([
  ['', { completion_tokens: 12, completion_tokens_details: { reasoning_tokens: 4 } }],
  ['usage=total', { completion_tokens: 8 }],
  ['usage=zero', { completion_tokens: 8, completion_tokens_details: { reasoning_tokens: 0 } }],
  ['usage=apart', { prompt_tokens: 15, completion_tokens: 12, completion_tokens_details: { reasoning_tokens: 4 } }],
])('%j: the counts', async (directives, shaped) => {
  const text = `[[sim tokens=8 reasoning=4 prompt=20 cached=5 ${directives}]]`;
  const { usage } = (await (await post('chat/completions', text, { stream: false })).json()) as { usage: Json };
  expect(usage).toEqual({ prompt_tokens: 20, total_tokens: 32, prompt_tokens_details: { cached_tokens: 5 }, ...shaped });
  const response = (await (await post('responses', text, { stream: false })).json()) as { usage: Json };
  expect(response.usage).toMatchObject({ input_tokens: usage.prompt_tokens, output_tokens: usage.completion_tokens, total_tokens: 32 });
});

test.each([
  ['tags=close', 'Hm.</think>a b c d'],
  ['tags=both', '<think>Hm.</think>a b c d'],
  ['separators reasoning=0', 'a\u2028b\u2029c\u0085d'],
])('%s: the text', async (directives, content) => {
  const response = await post('chat/completions', `[[sim say="a b c d" think="Hm." ${directives}]]`, { stream: false });
  const body = await response.text();
  expect(body).toContain(JSON.stringify(content));
});

test('finish: a word that Responses does not complete with is the reason of an incomplete response', async () => {
  const response = await post('responses', '[[sim finish=went_wrong]]', { stream: false });
  expect(await response.json()).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'went_wrong' } });
});

test('tool-use-failed: a refusal with its code', async () => {
  const response = await post('chat/completions', '[[sim tool-use-failed]]');
  expect([response.status, await response.json()]).toMatchObject([400, { error: { code: 'tool_use_failed' } }]);
});

test('refuse=forced-choice: a choice that forces a call', async () => {
  const statuses: number[] = [];
  for (const choice of ['auto', 'required'])
    statuses.push((await post('chat/completions', '[[sim refuse=forced-choice]]', { tool_choice: choice })).status);
  expect(statuses).toEqual([200, 400]);
});

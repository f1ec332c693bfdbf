import { once } from 'node:events';
import { connect } from 'node:net';
import { leastMs } from '#testing/least-ms.js';
import { startSimServer } from './sim-server.js';

const sim = await startSimServer({ host: '127.0.0.1', port: 0, record: true });
afterAll(() => sim.close());

function post(text: string, rest: object = {}, init: RequestInit = {}): Promise<Response> {
  const body = JSON.stringify({ model: 'sim-fast', messages: [{ role: 'user', content: text }], ...rest });
  return fetch(`${sim.url}/v1/chat/completions`, { method: 'POST', body, ...init });
}

const stream = { stream: true, stream_options: { include_usage: true } };

async function stats(): Promise<Record<string, number>> {
  return (await fetch(`${sim.url}/sim/stats`)).json() as Promise<Record<string, number>>;
}

/** Waits, with nothing but its own time as the limit, until no request is open. */
async function idle(): Promise<Record<string, number>> {
  for (;;) {
    const now = await stats();
    if (now.open === 0) return now;
  }
}

/** The `data:` lines of a stream; fails on anything that is not one. */
function dataLines(text: string): string[] {
  const frames = text.split('\n\n');
  expect(frames.pop()).toBe('');
  return frames.map((frame) => {
    expect(frame.startsWith('data: ')).toBe(true);
    return frame.slice('data: '.length);
  });
}

type Chunk = { choices: { delta: Record<string, unknown>; finish_reason: string | null }[]; usage?: object; error?: object };

async function chunks(response: Response): Promise<Chunk[]> {
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8']);
  const lines = dataLines(await response.text());
  expect(lines.pop()).toBe('[DONE]');
  return lines.map((line) => JSON.parse(line) as Chunk);
}

const joined = (all: Chunk[], field: string): string => all.map((chunk) => chunk.choices[0]?.delta[field] ?? '').join('');

test('a stream has the same content as the plain reply', async () => {
  const model = 'sim-reason';
  const plain = (await (await post('hello', { model })).json()) as { choices: { message: object }[]; usage: object };
  const all = await chunks(await post('hello', { model, ...stream }));
  expect(plain.choices[0]).toEqual({
    index: 0,
    message: { role: 'assistant', content: joined(all, 'content'), reasoning_content: joined(all, 'reasoning_content') },
    logprobs: null,
    finish_reason: 'stop',
  });
  expect(all.length).toBe(1 + 16 + 32 + 1 + 1);
  expect(all.at(-1)).toMatchObject({ choices: [], usage: plain.usage });
  expect(all.at(-2)?.choices).toEqual([{ index: 0, delta: {}, finish_reason: 'stop' }]);
});

test('the same request streams the same bytes', async () => {
  expect(await (await post('again', stream)).text()).toBe(await (await post('again', stream)).text());
});

test('sends no usage chunk unless requested', async () => {
  expect((await chunks(await post('hello [[sim tokens=2 chunk=2]]', { stream: true }))).map((chunk) => chunk.usage)).toEqual(
    Array(3).fill(undefined),
  );
});

test.each([
  [400, 'application/json'],
  [429, 'application/json'],
  [502, 'text/html'],
  [503, 'application/json'],
])('status=%d answers with that status', async (status, type) => {
  const response = await post(`[[sim status=${status} retry-after=2 message="because"]]`, stream);
  expect([response.status, response.headers.get('content-type'), response.headers.get('retry-after')]).toEqual([status, type, '2']);
  expect(await response.text()).toContain('because');
});

test('times limits the number of failures', async () => {
  const statuses: number[] = [];
  for (let attempt = 0; attempt < 4; attempt++) {
    const response = await post('[[sim status=503 times=2]]');
    statuses.push(response.status);
    await response.text();
  }
  expect(statuses).toEqual([503, 503, 200, 200]);
});

test('cut destroys the connection after N tokens', async () => {
  const before = await idle();
  const response = await post('[[sim cut=5]]', { stream: true });
  let text = '';
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder();
    for await (const part of response.body as unknown as AsyncIterable<Uint8Array>) text += decoder.decode(part, { stream: true });
  };
  await expect(read()).rejects.toThrow('terminated');
  expect(dataLines(text)).toHaveLength(1 + 5);
  await expect(post('[[sim cut=0]]', { stream: true })).rejects.toThrow('fetch failed');
  await expect(post('[[sim cut=3]]').then((plain) => plain.text())).rejects.toThrow('terminated');
  expect(await idle()).toMatchObject({ broken: (before.broken ?? 0) + 3, aborted: before.aborted });
});

test('close ends the stream without a finish, error with an error object', async () => {
  expect(dataLines(await (await post('[[sim close=2]]', { stream: true })).text())).toHaveLength(1 + 2);
  const failed = await chunks(await post('[[sim error=2]]', stream));
  expect(failed.at(-1)).toEqual({
    error: { message: 'The engine failed while generating.', type: 'server_error', param: null, code: null },
  });
  expect(failed).toHaveLength(1 + 2 + 1);
  expect((await post('[[sim error=2]]')).status).toBe(500);
});

test.each([
  ['a plain request that hangs', '[[sim hang]]', {}, false],
  ['a stream that never starts', '[[sim hang]]', stream, false],
  ['a stream that stalls', '[[sim hang=2]]', stream, true],
  ['a paced stream', '[[sim tokens=5000 rate=20]]', stream, true],
  ['a stream without a reader', '[[sim tokens=8192 pad=8000]]', stream, true],
])('counts a client that disconnects %s within 250 ms', async (_name, text, rest, answers) => {
  const leave = async (): Promise<number> => {
    const before = await idle();
    const leaving = new AbortController();
    const asked = post(text, rest, { signal: leaving.signal });
    asked.catch(() => undefined);
    if (answers) await (await asked).body?.getReader().read();
    else while ((await stats()).open !== 1);
    const left = performance.now();
    leaving.abort();
    if (!answers) await expect(asked).rejects.toThrow();
    const now = await idle();
    expect(now).toMatchObject({ aborted: (before.aborted ?? 0) + 1, finished: before.finished });
    return performance.now() - left;
  };
  expect(await leastMs(250, leave)).toBeLessThan(250);
});

test('a client that half-closes counts as disconnected', async () => {
  const before = await idle();
  const body = JSON.stringify({ model: 'sim-fast', messages: [{ role: 'user', content: '[[sim hang]]' }] });
  const socket = connect(sim.port, '127.0.0.1');
  socket.write(`POST /v1/chat/completions HTTP/1.1\r\nhost: sim\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
  while ((await stats()).open !== 1);
  socket.end();
  await once(socket, 'close');
  expect((await idle()).aborted).toBe((before.aborted ?? 0) + 1);
});

test('ttft delays the first byte, rate each token', async () => {
  const started = performance.now();
  const response = await post('[[sim ttft=60 tokens=11 rate=100]]', { stream: true });
  expect(performance.now() - started).toBeGreaterThanOrEqual(59);
  await response.text();
  expect(performance.now() - started).toBeGreaterThanOrEqual(158);
});

test('clock starts the text with the machine time', async () => {
  const micros = (): bigint => process.hrtime.bigint() / 1_000n;
  const before = micros();
  const all = await chunks(await post('[[sim tokens=6 clock]]', { stream: true }));
  const text = joined(all, 'content');
  expect({ inOrder: before <= BigInt(text.slice(0, 16)) && BigInt(text.slice(0, 16)) <= micros(), length: text.length }).toEqual({
    inOrder: true,
    length: 24,
  });
});

test('lists recorded requests with a limit, and forgets them', async () => {
  await (await post('first')).text();
  await (await post('second', { temperature: 1 }, { headers: { 'x-test': '1' } })).text();
  const requests = async (query: string) => (await fetch(`${sim.url}/sim/requests${query}`)).json() as Promise<unknown[]>;
  expect(await requests('?limit=1')).toEqual([
    {
      method: 'POST',
      path: '/v1/chat/completions',
      headers: expect.objectContaining({ 'x-test': '1' }),
      body: { model: 'sim-fast', messages: [{ role: 'user', content: 'second' }], temperature: 1 },
    },
  ]);
  await fetch(`${sim.url}/sim/requests`, { method: 'DELETE' });
  expect(await requests('')).toEqual([]);
});

test('defaults apply to every request until they are removed', async () => {
  const set = (words: string) => fetch(`${sim.url}/sim/defaults`, { method: 'PUT', body: words });
  await set('status=503');
  const refused = await post('hello');
  await set('');
  expect([refused.status, (await post('hello')).status]).toEqual([503, 200]);
  expect((await set('bogus')).status).toBe(400);
});

test.each<[string, object, string | null]>([
  ['an unknown role', { messages: [{ role: 'x', content: '' }] }, 'messages[0].role'],
  ['a part of no known type', { messages: [{ role: 'user', content: [{ type: 'x' }] }] }, 'messages[0].content[0]'],
  ['a tool result without id', { messages: [{ role: 'tool', content: '' }] }, 'messages[0].tool_call_id'],
  ['empty tools', { tools: [] }, 'tools'],
  ['a choice without tools', { tool_choice: 'auto' }, 'tool_choice'],
  ['stream options on a plain request', { stream_options: {} }, 'stream_options'],
  ['five stops', { stop: ['a', 'b', 'c', 'd', 'e'] }, 'stop'],
  ['no tokens', { max_tokens: 0 }, 'max_tokens'],
])('%s is a 400 that names the field', async (_name, rest, param) => {
  const response = await post('hello', rest);
  expect([response.status, await response.json()]).toEqual([
    400,
    { error: { message: expect.any(String), type: 'invalid_request_error', param, code: null } },
  ]);
});

test('an unknown model is a 404, a wrong key a 401', async () => {
  expect((await post('hello', { model: 'gpt' })).status).toBe(404);
  const locked = await startSimServer({ host: '127.0.0.1', port: 0, apiKey: 'k' });
  const models = (key: string) => fetch(`${locked.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
  expect([(await models('x')).status, (await models('k')).status]).toEqual([401, 200]);
  await locked.close();
});

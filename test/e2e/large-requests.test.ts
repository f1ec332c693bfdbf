import { stack } from '#testing/stack.js';
import { connectAdministrator, createTenant } from '#testing/tenant.js';

const BODY_MAX = 8 * 1024 * 1024;
const { gatewayUrl, opsUrls } = stack();

const administrator = await connectAdministrator(stack());
const { apiKey } = await createTenant(administrator, { usd: '1000.00' });
afterAll(() => administrator.close());

/** Base64 of the first bytes of a PNG, without padding. */
const PNG_HEAD = 'iVBORw0KGgoA';

/** A valid chat request of exactly `bytes` bytes, most of them an image. */
function makeBody(bytes: number): string {
  const image = (data: string): string => `{"type":"image_url","image_url":{"url":"data:image/png;base64,${data}"}}`;
  const head = '{"model":"sim-vision","messages":[{"role":"user","content":[{"type":"text","text":"what is it? [[sim tokens=8]]"},';
  const tail = ']}]}';
  const room = bytes - Buffer.byteLength(head + tail) - 2 * image('').length - 1;
  const first = Math.floor(room / 8) * 4;
  const body = `${head}${image(PNG_HEAD.padEnd(first, 'A'))},${image(PNG_HEAD.padEnd(Math.floor((room - first) / 4) * 4, 'A'))}${tail}`;
  return body.padEnd(bytes);
}

function post(body: string, path = '/v1/chat/completions'): Promise<Response> {
  return fetch(`${gatewayUrl}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body,
  });
}

test('a body of exactly 8 MiB passes through a NATS server with default settings [limit-body-size, H-10]', async () => {
  const response = await post(makeBody(BODY_MAX));
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({ object: 'chat.completion', usage: { completion_tokens: 8 } });
});

/** A late request of an agent: 300 messages and 200 tools, as large as the model's context. */
const SCHEMA = {
  type: 'object',
  properties: Object.fromEntries(
    Array.from({ length: 10 }, (_, index) => [`field_${index}`, { type: 'string', description: 'What this field is for.' }]),
  ),
  required: ['field_0'],
};
const TOOLS = Array.from({ length: 200 }, (_, index) => ({ name: `tool_${index}`, description: 'Does something useful.' }));
const MESSAGES = Array.from({ length: 300 }, (_, index) => ({
  role: index % 2 === 0 ? 'assistant' : 'user',
  content: index === 299 ? 'Go on. [[sim tokens=8]]' : 'Some lines of a file, or of what came of a command.\n'.repeat(10),
})).slice(1);

const LATE_REQUESTS: [path: string, body: object, reply: object][] = [
  [
    '/v1/chat/completions',
    { messages: MESSAGES, tools: TOOLS.map((tool) => ({ type: 'function', function: { ...tool, parameters: SCHEMA } })) },
    { object: 'chat.completion', usage: { completion_tokens: 8 } },
  ],
  [
    '/v1/responses',
    { input: MESSAGES, tools: TOOLS.map((tool) => ({ type: 'function', ...tool, parameters: SCHEMA })), metadata: { kept: 'yes' } },
    { object: 'response', status: 'completed', usage: { output_tokens: 8 }, metadata: { kept: 'yes' } },
  ],
  [
    '/v1/messages',
    { messages: MESSAGES, max_tokens: 100, tools: TOOLS.map((tool) => ({ ...tool, input_schema: SCHEMA })) },
    { type: 'message', usage: { output_tokens: 8 } },
  ],
];

test.each(LATE_REQUESTS)('%s accepts 300 messages and 200 tools', async (path, body, reply) => {
  const text = JSON.stringify({ model: 'sim-fast', ...body });
  expect(text.length).toBeGreaterThan(256 * 1024);
  const response = await post(text, path);
  expect([response.status, await response.json()]).toMatchObject([200, reply]);
});

/** Resident memory of the services that a large request passes through. */
async function residentMegabytes(): Promise<Record<string, number>> {
  const services = ['gateway', 'inference-proxy'] as const;
  const readings = services.map(async (name) => {
    const metrics = await (await fetch(`${opsUrls[name]}/metrics`)).text();
    return [name, Math.round(Number(/^process_resident_memory_bytes (\d+)/m.exec(metrics)?.[1]) / 2 ** 20)] as const;
  });
  return Object.fromEntries(await Promise.all(readings));
}

test('after 50 bodies of 8 MiB, eight at a time, memory has grown by at most 250 MB', async () => {
  const before = await residentMegabytes();
  const body = makeBody(BODY_MAX);
  const statuses: number[] = [];
  let left = 50;
  const client = async (): Promise<void> => {
    while (left-- > 0) statuses.push((await post(body)).status);
  };
  await Promise.all(Array.from({ length: 8 }, client));
  expect(statuses).toEqual(Array.from({ length: 50 }, () => 200));

  const deadline = Date.now() + 30_000;
  let grown: Record<string, number>;
  do {
    await new Promise((resolve) => setTimeout(resolve, 500));
    grown = Object.fromEntries(Object.entries(await residentMegabytes()).map(([name, now]) => [name, now - (before[name] ?? 0)]));
  } while (Object.values(grown).some((megabytes) => megabytes > 250) && Date.now() < deadline);
  expect(Object.entries(grown).filter(([, megabytes]) => !(megabytes <= 250))).toEqual([]);
});

import { readFileSync } from 'node:fs';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { catalogApply } from '#contracts/catalog.js';
import type { Messaging } from '#messaging/messaging.js';
import { type RunningStack, startPrivateStack } from '#testing/stack.js';
import { connectAdministrator, createTenant } from '#testing/tenant.js';

/** An upstream that speaks Messages is, to every client, the upstream that speaks chat: same text, same calls, same usage. */
let running: RunningStack;
let administrator: Messaging;
let openai: OpenAI;
let anthropic: Anthropic;

beforeAll(async () => {
  running = await startPrivateStack();
  administrator = await connectAdministrator(running);
  await administrator.request(catalogApply, { yaml: catalogWithMessages() });
  const { apiKey } = await createTenant(administrator);
  openai = new OpenAI({ baseURL: `${running.gatewayUrl}/v1`, apiKey, maxRetries: 0 });
  anthropic = new Anthropic({ baseURL: running.gatewayUrl, apiKey, maxRetries: 0 });
  const isOffered = async () => (await openai.models.list()).data.some(({ id }) => id === 'sim-fast-messages');
  for (const deadline = Date.now() + 10_000; !(await isOffered()); ) if (Date.now() > deadline) throw new Error('not offered');
}, 60_000);
afterAll(async () => {
  await administrator?.close();
  await running?.stop();
}, 60_000);

/** The demo catalog, and every model of it once more, at the same simulator in the other dialect. */
function catalogWithMessages(): string {
  const [upstreams = '', models = ''] = readFileSync('config/catalog.yaml', 'utf8').split(/^models:$/m);
  const again = models
    .replaceAll(/^ {2}- id: (\S+)/gm, '  - id: $1-messages')
    .replaceAll('{ upstream: local,', '{ upstream: local-messages,');
  const other = `  - { id: local-messages, kind: anthropic-messages, baseUrl: "\${UPSTREAM_LOCAL_URL}", allowPrivateNetwork: true }\n`;
  return `${upstreams}${other}models:${models}\n${again}`;
}

const OF_THE_REQUEST = new Set(['id', 'call_id', 'model', 'created', 'created_at', 'completed_at', 'tool_call_id', '_request_id']);

/** A reply without what belongs to this one request. */
function sayingOf(reply: unknown): unknown {
  return JSON.parse(JSON.stringify(reply, (key, value: unknown) => (OF_THE_REQUEST.has(key) ? undefined : value)));
}

const parameters = { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] };
const tools = ['weather', 'traffic'];

/** One reply to the text in every format, plain and streamed. */
async function replies(model: string, text: string): Promise<unknown[]> {
  const chat = {
    model,
    messages: [{ role: 'user' as const, content: text }],
    tools: tools.map((name) => ({ type: 'function' as const, function: { name, parameters } })),
  };
  const responses = { model, input: text, tools: tools.map((name) => ({ type: 'function' as const, name, parameters, strict: false })) };
  const messages = { ...chat, max_tokens: 500, tools: tools.map((name) => ({ name, input_schema: parameters })) };
  return [
    await openai.chat.completions.create(chat),
    await openai.chat.completions.stream({ ...chat, stream_options: { include_usage: true } }).finalChatCompletion(),
    await openai.responses.create(responses),
    await openai.responses.stream(responses).finalResponse(),
    await anthropic.messages.create(messages),
    await anthropic.messages.stream(messages).finalMessage(),
  ].map(sayingOf);
}

test.each([
  'Hello [[sim tokens=9 cached=3 unicode split]]',
  'Think [[sim reasoning=4]]',
  'call weather {"city":"Rome"}, call traffic {"city":"Oslo"} [[sim tokens=2 chunk=2]]',
])('chat, Responses and Messages clients: %s', async (text) => {
  expect(await replies('sim-fast-messages', text)).toEqual(await replies('sim-fast', text));
});

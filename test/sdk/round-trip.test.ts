import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import type { Messaging } from '#messaging/messaging.js';
import { offerModels, withdrawModels } from '#testing/offered-models.js';
import { catalogStack } from '#testing/stack.js';
import { connectAdministrator, createTenant } from '#testing/tenant.js';
import { aiSdk } from './round-trip/ai-sdk-clients.js';
import { TURNS } from './round-trip/conversation.js';
import { expectedPrompts } from './round-trip/expected-prompts.js';
import { type Converse, chatRunTools, messagesLoop, messagesToolRunner, responsesLoop } from './round-trip/official-clients.js';
import { listEntries, ROUTES, startUpstreams, takePrompts, type Upstreams } from './round-trip/upstreams.js';

/**
 * Every client holds a conversation of five turns with tools, with its own helpers, at an upstream of every dialect. The prompt at the
 * upstream depends only on the dialect, never on the client.
 */
const { gatewayUrl } = catalogStack();
const baseURL = `${gatewayUrl}/v1`;

let administrator: Messaging;
let upstreams: Upstreams;
let apiKey: string;

beforeAll(async () => {
  [administrator, upstreams] = await Promise.all([connectAdministrator(catalogStack()), startUpstreams()]);
  ({ apiKey } = await createTenant(administrator));
  await offerModels(administrator, catalogStack(), apiKey, listEntries(upstreams));
});
afterAll(async () => {
  await withdrawModels(administrator, listEntries(upstreams));
  await administrator.close();
  await Promise.all(Object.values(upstreams).map((sim) => sim.close()));
});

const openai = () => new OpenAI({ baseURL, apiKey, maxRetries: 0 });
const anthropic = () => new Anthropic({ baseURL: gatewayUrl, apiKey, maxRetries: 0 });
const thinking = { anthropic: { thinking: { type: 'enabled', budgetTokens: 1_000 } } };

interface Client {
  name: string;
  open(stream: boolean): Converse;
  /** True when the client sends earlier reasoning back. */
  echoes: { plain: boolean; streamed: boolean };
}

const ALWAYS = { plain: true, streamed: true };
const NEVER = { plain: false, streamed: false };

const CLIENTS: Client[] = [
  { name: 'openai, chat.completions.runTools', open: (stream) => chatRunTools(openai(), stream), echoes: NEVER },
  { name: 'openai, responses with the output as input', open: (stream) => responsesLoop(openai(), stream), echoes: ALWAYS },
  { name: 'anthropic, messages', open: (stream) => messagesLoop(anthropic(), stream), echoes: ALWAYS },
  { name: 'anthropic, beta.messages.toolRunner', open: (stream) => messagesToolRunner(anthropic(), stream), echoes: ALWAYS },
  {
    name: 'AI SDK, openai on chat',
    open: (stream) => aiSdk((model) => createOpenAI({ baseURL, apiKey }).chat(model), stream),
    echoes: NEVER,
  },
  {
    name: 'AI SDK, openai-compatible on chat',
    open: (stream) => aiSdk((model) => createOpenAICompatible({ name: 'tollgate', baseURL, apiKey })(model), stream),
    echoes: ALWAYS,
  },
  {
    name: 'AI SDK, openai on responses',
    open: (stream) => {
      const providerOptions = { openai: { store: false } };
      return aiSdk((model) => createOpenAI({ baseURL, apiKey }).responses(model), stream, { providerOptions });
    },
    // It sends back only encrypted reasoning, which Tollgate does not return.
    echoes: NEVER,
  },
  {
    name: 'AI SDK, anthropic on messages',
    open: (stream) => {
      // The provider adds the thinking budget to the limit.
      const options = { providerOptions: thinking, maxOutputTokens: 2_000 };
      return aiSdk((model) => createAnthropic({ baseURL, apiKey })(model), stream, options);
    },
    // In a stream it keeps only thinking with a signature_delta (M-23).
    echoes: { plain: true, streamed: false },
  },
];

const cases = CLIENTS.flatMap((client) =>
  [false, true].map((stream) => ({ ...client, stream, how: stream ? 'streamed' : 'plain' }) as const),
);

test.each(cases)(
  'five turns with tools reach every dialect as they were: $name, $how [M-8, M-13, U-12, T-7, T-10]',
  async ({ open, stream, echoes }) => {
    const conversations = await Promise.all(
      ROUTES.map(async ({ model }) => {
        const answers = await open(stream)(model);
        return [model, { answers, prompts: await takePrompts(upstreams[model]) }] as const;
      }),
    );
    const prompts = expectedPrompts({ stream, echoed: stream ? echoes.streamed : echoes.plain });
    const answers = TURNS.map(({ answer }) => answer);
    expect(Object.fromEntries(conversations)).toEqual(
      Object.fromEntries(ROUTES.map(({ model }) => [model, { answers, prompts: prompts[model] }])),
    );
  },
);

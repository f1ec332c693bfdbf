import Anthropic, { NotFoundError as AnthropicNotFoundError, InternalServerError as AnthropicServerError } from 'anthropic-sdk-0';
import OpenAI, { InternalServerError, NotFoundError } from 'openai-6';
import { stack } from '#testing/stack.js';
import { connectAdministrator, createTenant } from '#testing/tenant.js';

/** Earlier major versions of the official clients, which are still in use: openai 6 and @anthropic-ai/sdk 0.x. */
const { gatewayUrl } = stack();

const administrator = await connectAdministrator(stack());
const { apiKey } = await createTenant(administrator);
const openai = new OpenAI({ apiKey, baseURL: `${gatewayUrl}/v1`, maxRetries: 0 });
const anthropic = new Anthropic({ apiKey, baseURL: gatewayUrl, maxRetries: 0 });
afterAll(() => administrator.close());

/** A reply, independent of formats. */
interface Saying {
  text: string;
  reasoning: string;
  calls: [name: string, input: unknown][];
  end: unknown;
  usage: [prompt: number, output: number];
}

interface Client {
  name: string;
  plain(text: string, model?: string): Promise<Saying>;
  streamed(text: string, model?: string): Promise<Saying>;
  errors: { notFound: unknown; server: unknown };
}

const parameters = { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false };
const NAMES = ['get_weather', 'get_time'];
const OPENAI_ERRORS = { notFound: NotFoundError, server: InternalServerError };

function chatRequest(text: string, model = 'sim-fast') {
  const tools = NAMES.map((name) => ({ type: 'function' as const, function: { name, parameters } }));
  return { model, messages: [{ role: 'user' as const, content: text }], tools };
}
function responsesRequest(text: string, model = 'sim-fast') {
  return { model, input: text, tools: NAMES.map((name) => ({ type: 'function' as const, name, parameters, strict: true })) };
}
function messagesRequest(text: string, model = 'sim-fast') {
  const thinking = { type: 'enabled' as const, budget_tokens: 1024 };
  const tools = NAMES.map((name) => ({ name, input_schema: parameters }));
  return { model, max_tokens: 2_000, messages: [{ role: 'user' as const, content: text }], tools, thinking };
}

const CLIENTS: Client[] = [
  {
    name: 'openai 6, chat',
    plain: async (...asked) => ofCompletion(await openai.chat.completions.create(chatRequest(...asked))),
    streamed: async (...asked) => {
      const request = { ...chatRequest(...asked), stream_options: { include_usage: true } };
      const stream = openai.chat.completions.stream(request);
      let reasoning = '';
      // The helper keeps only the last piece of unknown fields.
      for await (const { choices } of stream) reasoning += (choices[0]?.delta as { reasoning_content?: string })?.reasoning_content ?? '';
      return { ...ofCompletion(await stream.finalChatCompletion()), reasoning };
    },
    errors: OPENAI_ERRORS,
  },
  {
    name: 'openai 6, responses',
    plain: async (...asked) => ofResponse(await openai.responses.create(responsesRequest(...asked))),
    streamed: async (...asked) => {
      const stream = openai.responses.stream(responsesRequest(...asked));
      // Its finalResponse() treats a failed response as unfinished.
      for await (const event of stream) if (event.type === 'response.failed') throw new Error(event.response.error?.message);
      return ofResponse(await stream.finalResponse());
    },
    errors: OPENAI_ERRORS,
  },
  {
    name: '@anthropic-ai/sdk 0.x, messages',
    plain: async (...asked) => ofMessage(await anthropic.messages.create(messagesRequest(...asked))),
    streamed: async (...asked) => ofMessage(await anthropic.messages.stream(messagesRequest(...asked)).finalMessage()),
    errors: { notFound: AnthropicNotFoundError, server: AnthropicServerError },
  },
];

function ofCompletion({ choices, usage }: OpenAI.ChatCompletion): Saying {
  const { message, finish_reason: end } = choices[0] as OpenAI.ChatCompletion.Choice;
  const calls = (message.tool_calls ?? []).flatMap((call) => (call.type === 'function' ? [call.function] : []));
  return {
    text: message.content ?? '',
    reasoning: (message as { reasoning_content?: string }).reasoning_content ?? '',
    calls: calls.map(({ name, arguments: given }) => [name, JSON.parse(given)]),
    end,
    usage: [usage?.prompt_tokens ?? 0, usage?.completion_tokens ?? 0],
  };
}

function ofResponse({ output, status: end, usage }: OpenAI.Responses.Response): Saying {
  const parts = output.flatMap((item) => (item.type === 'message' ? item.content : []));
  return {
    text: parts.map((part) => (part.type === 'output_text' ? part.text : part.refusal)).join(),
    reasoning: output.flatMap((item) => (item.type === 'reasoning' ? item.summary.map((part) => part.text) : [])).join(),
    calls: output.flatMap((item) => (item.type === 'function_call' ? [[item.name, JSON.parse(item.arguments)] as [string, unknown]] : [])),
    end,
    usage: [usage?.input_tokens ?? 0, usage?.output_tokens ?? 0],
  };
}

function ofMessage({ content, stop_reason: end, usage }: Anthropic.Message): Saying {
  return {
    text: content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join(),
    reasoning: content.flatMap((block) => (block.type === 'thinking' ? [block.thinking] : [])).join(),
    calls: content.flatMap((block) => (block.type === 'tool_use' ? [[block.name, block.input] as [string, unknown]] : [])),
    end,
    usage: [usage.input_tokens, usage.output_tokens],
  };
}

describe.each(CLIENTS)('$name', ({ plain, streamed, errors }) => {
  test.each(['plain', 'streamed'])('reasoning, text and usage, %s', async (mode) => {
    const said = await (mode === 'plain' ? plain : streamed)('Think [[sim tokens=16]]', 'sim-reason');
    expect(said).toEqual({
      text: expect.stringMatching(/^[A-Z][A-Za-z ,]{62}\.$/),
      reasoning: expect.stringMatching(/^[A-Z][A-Za-z ,]{62}\.$/),
      calls: [],
      end: expect.stringMatching(/^(stop|completed|end_turn)$/),
      usage: [expect.any(Number), 32],
    });
  });

  test.each(['plain', 'streamed'])('parallel calls, interleaved by the upstream, %s', async (mode) => {
    const text = 'call get_weather {"city": "Rome"}, call get_time {"city": "Oslo"} [[sim interleave]]';
    expect(await (mode === 'plain' ? plain : streamed)(text)).toEqual({
      text: '',
      reasoning: '',
      calls: [
        ['get_weather', { city: 'Rome' }],
        ['get_time', { city: 'Oslo' }],
      ],
      end: expect.stringMatching(/^(tool_calls|completed|tool_use)$/),
      usage: [expect.any(Number), 13],
    });
  });

  test('errors have the class of their status [E-1, E-2]', async () => {
    await expect(plain('x', 'gpt-5')).rejects.toBeInstanceOf(errors.notFound);
    await expect(streamed('x', 'gpt-5')).rejects.toBeInstanceOf(errors.notFound);
    await expect(streamed('[[sim status=500]]')).rejects.toBeInstanceOf(errors.server);
  });

  test('a failed stream throws', async () => {
    await expect(streamed('Hello [[sim tokens=30 error=10]]')).rejects.toThrow('The model failed to produce a response.');
  });
});

import OpenAI, { APIError } from 'openai';
import type {
  ChatCompletion,
  ChatCompletionCreateParams,
  ChatCompletionTool,
  ChatCompletionToolChoiceOption,
  ChatCompletionMessageParam as ChatMessage,
} from 'openai/resources/chat/completions';
import { comparable, type FormatClient, type Outcome, readArguments, type SeenReply, watchedFetch } from './outcome.js';
import { type Ask, TOOLS, type ToolName, type Turn } from './scenario.js';

type Body = Omit<ChatCompletionCreateParams, 'stream'>;

/** Fields that are null in plain replies, and in part in what the library makes of a stream. */
const NULLS = ['refusal', 'logprobs', 'system_fingerprint'];

/** Chat completions with the official client and its fold of a stream. */
export function chatClient(gatewayUrl: string, apiKey: string): FormatClient<Body> {
  const open = () => {
    const { fetch, head } = watchedFetch();
    return { head, client: new OpenAI({ baseURL: `${gatewayUrl}/v1`, apiKey, maxRetries: 0, fetch }) };
  };
  return {
    render: renderChat,
    async plain(body) {
      const { head, client } = open();
      try {
        const reply = await client.chat.completions.create({ ...body, stream: false });
        return { ...head, seen: read(reply), whole: comparable(reply, ...NULLS) };
      } catch (error) {
        return { ...head, seen: readFailure(error, '') };
      }
    },
    async streamed(body) {
      const { head, client } = open();
      const stream = client.chat.completions.stream({ ...body, stream: true, stream_options: { include_usage: true } } as never);
      let reasoning = '';
      let text = '';
      stream.on('content', (delta) => {
        text += delta;
      });
      // The library does not know this field and keeps only its last piece.
      stream.on('chunk', ({ choices }) => {
        reasoning += (choices[0]?.delta as { reasoning_content?: string } | undefined)?.reasoning_content ?? '';
      });
      try {
        const reply = (await stream.finalChatCompletion()) as ChatCompletion;
        const message = reply.choices[0]?.message;
        if (message && reasoning !== '') Object.assign(message, { reasoning_content: reasoning });
        return { ...head, seen: read(reply), whole: comparable(reply, ...NULLS) };
      } catch (error) {
        return { ...head, seen: readFailure(error, text) };
      }
    },
  };
}

/** Renders a request. With `asFunctions`, custom tools are functions of one text, as upstreams without custom tools get them. */
export function renderChat(ask: Ask, model: string, asFunctions = false): Body {
  const choice = ask.toolChoice;
  return {
    model,
    messages: [
      ...(ask.system === undefined ? [] : [{ role: 'system' as const, content: ask.system }]),
      ...ask.turns.map((turn) => renderTurn(turn, asFunctions)),
    ],
    max_completion_tokens: ask.maxTokens,
    stop: ask.stop,
    tools: ask.tools?.map((name) => renderTool(name, asFunctions)),
    tool_choice: typeof choice === 'object' ? renderChoice(choice) : choice,
    response_format: ask.schema && { type: 'json_schema', json_schema: { name: 'answer', schema: ask.schema, strict: true } },
  };
}

function renderTurn(turn: Turn, asFunctions: boolean): ChatMessage {
  switch (turn.role) {
    case 'user': {
      if (turn.pngBase64 === undefined) return { role: 'user', content: turn.text };
      const image_url = { url: `data:image/png;base64,${turn.pngBase64}` };
      return {
        role: 'user',
        content: [
          { type: 'text', text: turn.text },
          { type: 'image_url', image_url },
        ],
      };
    }
    case 'assistant':
      return {
        role: 'assistant',
        content: turn.text,
        tool_calls: turn.calls?.map(({ id, name, input }) =>
          isCustom(name) && !asFunctions
            ? { id, type: 'custom', custom: { name, input: String(input) } }
            : { id, type: 'function', function: { name, arguments: argumentsText(name, input) } },
        ),
      };
    case 'tool':
      return { role: 'tool', tool_call_id: turn.id, content: turn.result };
  }
}

function isCustom(name: ToolName): boolean {
  return TOOLS[name].lark !== undefined;
}

function renderChoice(choice: { name: ToolName }): ChatCompletionToolChoiceOption {
  return isCustom(choice.name) ? { type: 'custom', custom: choice } : { type: 'function', function: choice };
}

function renderTool(name: ToolName, asFunctions: boolean): ChatCompletionTool {
  const { description, parameters, lark } = TOOLS[name];
  if (lark === undefined) return { type: 'function', function: { name, description, parameters } };
  if (!asFunctions) {
    return { type: 'custom', custom: { name, description, format: { type: 'grammar', grammar: { syntax: 'lark', definition: lark } } } };
  }
  const definition = {
    name,
    description: `${description}\n\nThe input follows this lark grammar:\n${lark}`,
    parameters: { type: 'object', properties: { input: { type: 'string' } }, required: ['input'] },
  };
  return { type: 'function', function: definition };
}

/** Arguments of a call as JSON text; arguments that were cut are text already. The input of a custom tool is wrapped. */
export function argumentsText(name: ToolName, input: unknown): string {
  if (isCustom(name)) return JSON.stringify({ input });
  return typeof input === 'string' ? input : JSON.stringify(input);
}

const ENDINGS = { stop: 'end', length: 'length', tool_calls: 'calls' } as const;

function read({ choices, usage }: ChatCompletion): SeenReply {
  const [{ message, finish_reason }] = choices as [ChatCompletion.Choice];
  const { reasoning_content: reasoning = '' } = message as { reasoning_content?: string };
  return {
    reasoning,
    text: (message.content ?? '') + (message.refusal ?? ''),
    calls: (message.tool_calls ?? []).map((call) =>
      call.type === 'custom'
        ? { name: call.custom.name as ToolName, input: call.custom.input }
        : { name: call.function.name as ToolName, input: readArguments(call.function.arguments) },
    ),
    ending: message.refusal ? 'refused' : ENDINGS[finish_reason as keyof typeof ENDINGS],
    usage: {
      promptTokens: usage?.prompt_tokens ?? Number.NaN,
      cachedTokens: usage?.prompt_tokens_details?.cached_tokens ?? Number.NaN,
      outputTokens: usage?.completion_tokens ?? Number.NaN,
      reasoningTokens: usage?.completion_tokens_details?.reasoning_tokens ?? Number.NaN,
    },
  };
}

/** Error of OpenAI's official client. */
export function readFailure(error: unknown, text: string): Outcome['seen'] {
  if (!(error instanceof APIError) || typeof error.code !== 'string') throw error;
  return { word: error.code, text };
}

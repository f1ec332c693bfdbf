import OpenAI, { APIError } from 'openai';
import type {
  ChatCompletion,
  ChatCompletionCreateParams,
  ChatCompletionMessageParam as ChatMessage,
} from 'openai/resources/chat/completions';
import { comparable, type FormatClient, type Outcome, readArguments, type SeenReply, watchedFetch } from './outcome.js';
import { type Ask, TOOLS, type ToolName, type Turn } from './scenario.js';

type Body = Omit<ChatCompletionCreateParams, 'stream'>;

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
        return { ...head, seen: read(reply), whole: comparable(reply) };
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
        return { ...head, seen: read(reply), whole: comparable(reply, 'refusal', 'logprobs') };
      } catch (error) {
        return { ...head, seen: readFailure(error, text) };
      }
    },
  };
}

/** Renders a custom tool as a function with one text parameter, as the gateway does for dialects without custom tools. */
export function renderChat(ask: Ask, model: string): Body {
  const choice = ask.toolChoice;
  return {
    model,
    messages: [...(ask.system === undefined ? [] : [{ role: 'system' as const, content: ask.system }]), ...ask.turns.map(renderTurn)],
    max_completion_tokens: ask.maxTokens,
    stop: ask.stop,
    tools: ask.tools?.map((name) => ({ type: 'function', function: renderTool(name) })),
    tool_choice: typeof choice === 'object' ? { type: 'function', function: choice } : choice,
    response_format: ask.schema && { type: 'json_schema', json_schema: { name: 'answer', schema: ask.schema, strict: true } },
  };
}

function renderTurn(turn: Turn): ChatMessage {
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
        tool_calls: turn.calls?.map(({ id, name, input }) => ({
          id,
          type: 'function',
          function: { name, arguments: argumentsText(name, input) },
        })),
      };
    case 'tool':
      return { role: 'tool', tool_call_id: turn.id, content: turn.result };
  }
}

function renderTool(name: ToolName) {
  const { description, parameters, lark } = TOOLS[name];
  if (lark === undefined) return { name, description, parameters };
  return {
    name,
    description: `${description}\n\nThe input follows this lark grammar:\n${lark}`,
    parameters: { type: 'object', properties: { input: { type: 'string' } }, required: ['input'] },
  };
}

/** Arguments of a call as JSON text; arguments that were cut are text already. */
export function argumentsText(name: ToolName, input: unknown): string {
  if (TOOLS[name].lark !== undefined) return JSON.stringify({ input });
  return typeof input === 'string' ? input : JSON.stringify(input);
}

const ENDINGS = { stop: 'end', length: 'length', tool_calls: 'calls' } as const;

function read({ choices, usage }: ChatCompletion): SeenReply {
  const [{ message, finish_reason }] = choices as [ChatCompletion.Choice];
  const { reasoning_content: reasoning = '' } = message as { reasoning_content?: string };
  return {
    reasoning,
    text: (message.content ?? '') + (message.refusal ?? ''),
    calls: (message.tool_calls ?? []).flatMap((call) =>
      call.type === 'function' ? [{ name: call.function.name as ToolName, input: readArguments(call.function.arguments) }] : [],
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

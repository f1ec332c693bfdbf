import Anthropic, { APIError } from '@anthropic-ai/sdk';
import { comparable, type FormatClient, type SeenFailure, type SeenReply, watchedFetch } from './outcome.js';
import { type Ask, TOOLS, type ToolName, type Turn } from './scenario.js';

type Body = Omit<Anthropic.MessageCreateParams, 'stream'>;

/** The format requires a limit; this is the default of the other formats. */
const DEFAULT_OUTPUT_TOKENS = 4_096;

/** Messages with the official client and its fold of a stream. */
export function messagesClient(gatewayUrl: string, apiKey: string): FormatClient<Body> {
  const open = () => {
    const { fetch, head } = watchedFetch();
    return { head, client: new Anthropic({ baseURL: gatewayUrl, apiKey, maxRetries: 0, fetch }) };
  };
  return {
    render: renderMessages,
    async plain(body) {
      const { head, client } = open();
      try {
        const reply = await client.messages.create({ ...body, stream: false });
        return { ...head, seen: read(reply), whole: comparable(reply) };
      } catch (error) {
        return { ...head, seen: readFailure(error, '') };
      }
    },
    async streamed(body) {
      const { head, client } = open();
      const stream = client.messages.stream(body);
      let text = '';
      stream.on('text', (delta) => {
        text += delta;
      });
      try {
        const reply = await stream.finalMessage();
        return { ...head, seen: read(reply), whole: comparable(reply) };
      } catch (error) {
        return { ...head, seen: readFailure(error, text) };
      }
    },
  };
}

function renderMessages(ask: Ask, model: string): Body {
  const choice = ask.toolChoice;
  return {
    model,
    max_tokens: ask.maxTokens ?? DEFAULT_OUTPUT_TOKENS,
    system: ask.system,
    messages: ask.turns.map(renderTurn),
    stop_sequences: ask.stop,
    output_config: ask.schema && { format: { type: 'json_schema', schema: ask.schema } },
    tools: ask.tools?.map((name) => ({
      name,
      description: TOOLS[name].description,
      input_schema: TOOLS[name].parameters as Anthropic.Tool.InputSchema,
    })),
    tool_choice:
      choice === undefined
        ? undefined
        : typeof choice === 'object'
          ? { type: 'tool', name: choice.name }
          : { type: choice === 'required' ? 'any' : choice },
    thinking: ask.showReasoning ? { type: 'enabled', budget_tokens: 1_024 } : undefined,
  };
}

/** Consecutive results are separate user turns, which the gateway merges. */
function renderTurn(turn: Turn): Anthropic.MessageParam {
  switch (turn.role) {
    case 'user': {
      if (turn.pngBase64 === undefined) return { role: 'user', content: turn.text };
      const source = { type: 'base64' as const, media_type: 'image/png' as const, data: turn.pngBase64 };
      return {
        role: 'user',
        content: [
          { type: 'text', text: turn.text },
          { type: 'image', source },
        ],
      };
    }
    case 'assistant':
      return {
        role: 'assistant',
        content: [
          ...(turn.text === '' ? [] : [{ type: 'text' as const, text: turn.text }]),
          ...(turn.calls ?? []).map(({ id, name, input }) => ({ type: 'tool_use' as const, id, name, input })),
        ],
      };
    case 'tool':
      return { role: 'user', content: [{ type: 'tool_result', tool_use_id: turn.id, content: turn.result }] };
  }
}

const ENDINGS = { end_turn: 'end', tool_use: 'calls', max_tokens: 'length', refusal: 'filtered' } as const;

function read({ content, stop_reason, usage }: Anthropic.Message): SeenReply {
  const seen: Omit<SeenReply, 'ending' | 'usage'> = { reasoning: '', text: '', calls: [] };
  for (const block of content) {
    if (block.type === 'thinking') seen.reasoning += block.thinking;
    if (block.type === 'text') seen.text += block.text;
    if (block.type === 'tool_use') seen.calls.push({ name: block.name as ToolName, input: readInput(block.input) });
  }
  const cachedTokens = usage.cache_read_input_tokens ?? Number.NaN;
  return {
    ...seen,
    ending: ENDINGS[stop_reason as keyof typeof ENDINGS],
    usage: { promptTokens: usage.input_tokens + cachedTokens, cachedTokens, outputTokens: usage.output_tokens },
  };
}

/** Arguments that were cut are in `_raw` as text (docs/protocols.md). */
function readInput(input: unknown): unknown {
  return (input as { _raw?: string })._raw ?? input;
}

function readFailure(error: unknown, text: string): SeenFailure {
  const body = error instanceof APIError ? (error.error as { error?: { type?: unknown } } | undefined) : undefined;
  if (typeof body?.error?.type !== 'string') throw error;
  return { word: body.error.type, text };
}

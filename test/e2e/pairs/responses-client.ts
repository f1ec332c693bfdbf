import OpenAI from 'openai';
import type { Response, ResponseCreateParams, ResponseInputItem, Tool } from 'openai/resources/responses/responses';
import { readFailure } from './chat-client.js';
import { comparable, type FormatClient, readArguments, type SeenReply, watchedFetch } from './outcome.js';
import { type Ask, type ReplyEnd, TOOLS, type ToolName, type Turn } from './scenario.js';

type Body = Omit<ResponseCreateParams, 'stream'>;

/** Responses with the official client and its fold of a stream. */
export function responsesClient(gatewayUrl: string, apiKey: string): FormatClient<Body> {
  const open = () => {
    const { fetch, head } = watchedFetch();
    return { head, client: new OpenAI({ baseURL: `${gatewayUrl}/v1`, apiKey, maxRetries: 0, fetch }) };
  };
  return {
    render: renderResponses,
    async plain(body) {
      const { head, client } = open();
      try {
        const reply = await client.responses.create({ ...body, stream: false });
        return { ...head, seen: read(reply), whole: comparable(reply) };
      } catch (error) {
        return { ...head, seen: readFailure(error, '') };
      }
    },
    async streamed(body) {
      const { head, client } = open();
      const stream = client.responses.stream({ ...body, stream: true } as never);
      let text = '';
      stream.on('response.output_text.delta', ({ delta }) => {
        text += delta;
      });
      try {
        const reply = (await stream.finalResponse()) as Response;
        if (reply.status === 'failed') return { ...head, seen: { word: reply.error?.code ?? '', text } };
        return { ...head, seen: read(reply), whole: comparable(reply) };
      } catch (error) {
        return { ...head, seen: readFailure(error, text) };
      }
    },
  };
}

function renderResponses(ask: Ask, model: string): Body {
  const choice = ask.toolChoice;
  return {
    model,
    instructions: ask.system,
    input: ask.turns.flatMap(renderTurn),
    max_output_tokens: ask.maxTokens,
    tools: ask.tools?.map(renderTool),
    tool_choice: typeof choice === 'object' ? { type: isCustom(choice.name) ? 'custom' : 'function', name: choice.name } : choice,
    text: ask.schema && { format: { type: 'json_schema', name: 'answer', schema: ask.schema, strict: true } },
  };
}

function renderTurn(turn: Turn): ResponseInputItem[] {
  switch (turn.role) {
    case 'user': {
      if (turn.pngBase64 === undefined) return [{ role: 'user', content: turn.text }];
      const image_url = `data:image/png;base64,${turn.pngBase64}`;
      return [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: turn.text },
            { type: 'input_image', image_url, detail: 'auto' },
          ],
        },
      ];
    }
    case 'assistant':
      return [
        ...(turn.text === '' ? [] : [{ role: 'assistant' as const, content: turn.text }]),
        ...(turn.calls ?? []).map(
          ({ id, name, namespace, input }): ResponseInputItem =>
            isCustom(name)
              ? { type: 'custom_tool_call', call_id: id, name, input: String(input) }
              : { type: 'function_call', call_id: id, name, arguments: JSON.stringify(input), ...(namespace && { namespace }) },
        ),
      ];
    case 'tool': {
      const type = isCustom(turn.name) ? 'custom_tool_call_output' : 'function_call_output';
      return [{ type, call_id: turn.id, output: turn.result }];
    }
  }
}

function isCustom(name: ToolName): boolean {
  return TOOLS[name].lark !== undefined;
}

function renderTool(name: ToolName): Tool {
  const { description, parameters = {}, lark, namespace } = TOOLS[name];
  if (namespace !== undefined) {
    const inner = { type: 'function' as const, name, description, parameters };
    return { type: 'namespace', name: namespace, description: 'Some tools', tools: [inner] };
  }
  if (lark === undefined) return { type: 'function', name, description, parameters, strict: false };
  return { type: 'custom', name, description, format: { type: 'grammar', syntax: 'lark', definition: lark } };
}

function read({ output, status, incomplete_details: details, usage }: Response): SeenReply {
  const seen: Omit<SeenReply, 'ending' | 'usage'> = { reasoning: '', text: '', calls: [] };
  for (const item of output) {
    if (item.type === 'reasoning') seen.reasoning += item.summary.map(({ text }) => text).join('');
    if (item.type === 'message') seen.text += item.content.map((part) => (part.type === 'output_text' ? part.text : part.refusal)).join('');
    if (item.type === 'function_call') {
      const { namespace } = item as { namespace?: string };
      seen.calls.push({
        name: item.name as ToolName,
        input: readArguments(item.arguments),
        ...(namespace === undefined ? {} : { namespace }),
      });
    }
    if (item.type === 'custom_tool_call') seen.calls.push({ name: item.name as ToolName, input: item.input });
  }
  const isRefused = output.some((item) => item.type === 'message' && item.content.some(({ type }) => type === 'refusal'));
  const whole: ReplyEnd = isRefused ? 'refused' : seen.calls.length > 0 ? 'calls' : 'end';
  const cut: ReplyEnd = details?.reason === 'content_filter' ? 'filtered' : 'length';
  return {
    ...seen,
    ending: status === 'completed' ? whole : cut,
    usage: {
      promptTokens: usage?.input_tokens ?? Number.NaN,
      cachedTokens: usage?.input_tokens_details.cached_tokens ?? Number.NaN,
      outputTokens: usage?.output_tokens ?? Number.NaN,
      reasoningTokens: usage?.output_tokens_details.reasoning_tokens ?? Number.NaN,
    },
  };
}

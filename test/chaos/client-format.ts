import type { BillableUsage } from '#money/price.js';

/** A request, independent of formats. */
export interface Ask {
  model: string;
  text: string;
  stream: boolean;
  outputTokensMax: number;
  withTool: boolean;
  /** End user. Absent: none. */
  user?: string;
  /** Header `x-tollgate-tags`. Absent: none. */
  tags?: string;
  /** Session, and the most dollars that it may cost. Absent: none. */
  session?: string;
  sessionBudget?: string;
}

/** A minimal client of one format: renders requests, parses replies and their usage. */
interface ClientFormat {
  path: string;
  body(ask: Ask): object;
  /** Usage of a plain reply. */
  readUsage(reply: Fields): BillableUsage;
  /** Parses one event of a stream. */
  readEvent(event: Fields): { text?: string; usage?: BillableUsage; ended?: 'complete' | 'failed' };
}

// biome-ignore lint/suspicious/noExplicitAny: replies are read where a client would read them; what is not there fails the test.
export type Fields = any;

const PARAMETERS = { type: 'object', properties: { kilograms: { type: 'number' } } };

const chat: ClientFormat = {
  path: '/v1/chat/completions',
  body: ({ model, text, stream, outputTokensMax, withTool, user }) => ({
    model,
    messages: [{ role: 'user', content: text }],
    max_completion_tokens: outputTokensMax,
    stream,
    ...(stream ? { stream_options: { include_usage: true } } : {}),
    user,
    ...(withTool ? { tools: [{ type: 'function', function: { name: 'weigh', parameters: PARAMETERS } }] } : {}),
  }),
  readUsage: ({ usage }) => ({
    promptTokens: usage.prompt_tokens,
    cachedTokens: usage.prompt_tokens_details?.cached_tokens ?? 0,
    outputTokens: usage.completion_tokens,
  }),
  readEvent: (event) => {
    if (event.error) return { ended: 'failed' };
    const delta = event.choices[0]?.delta ?? {};
    const text = (delta.reasoning_content ?? '') + (delta.content ?? '') + (delta.tool_calls?.[0].function.arguments ?? '');
    return { text, ...(event.usage ? { usage: chat.readUsage(event) } : {}) };
  },
};

const responses: ClientFormat = {
  path: '/v1/responses',
  body: ({ model, text, stream, outputTokensMax, withTool, user }) => ({
    model,
    input: text,
    max_output_tokens: outputTokensMax,
    stream,
    store: false,
    safety_identifier: user,
    ...(withTool ? { tools: [{ type: 'function', name: 'weigh', parameters: PARAMETERS, strict: false }] } : {}),
  }),
  readUsage: ({ usage }) => ({
    promptTokens: usage.input_tokens,
    cachedTokens: usage.input_tokens_details.cached_tokens,
    outputTokens: usage.output_tokens,
  }),
  readEvent: ({ type, delta, response }) => {
    if (type === 'error' || type === 'response.failed') return { ended: 'failed' };
    if (type === 'response.completed' || type === 'response.incomplete') return { usage: responses.readUsage(response), ended: 'complete' };
    return type.endsWith('.delta') ? { text: delta } : {};
  },
};

const messages: ClientFormat = {
  path: '/v1/messages',
  body: ({ model, text, stream, outputTokensMax, withTool, user }) => ({
    model,
    messages: [{ role: 'user', content: text }],
    max_tokens: outputTokensMax,
    stream,
    ...(user === undefined ? {} : { metadata: { user_id: user } }),
    ...(withTool ? { tools: [{ name: 'weigh', input_schema: PARAMETERS }] } : {}),
  }),
  readUsage: ({ usage }) => ({
    promptTokens: usage.input_tokens + usage.cache_read_input_tokens,
    cachedTokens: usage.cache_read_input_tokens,
    outputTokens: usage.output_tokens,
  }),
  readEvent: (event) => {
    if (event.type === 'error') return { ended: 'failed' };
    if (event.type === 'message_stop') return { ended: 'complete' };
    if (event.type === 'message_delta') return { usage: messages.readUsage(event) };
    if (event.type !== 'content_block_delta') return {};
    return { text: event.delta.text ?? event.delta.thinking ?? event.delta.partial_json };
  },
};

export const CLIENT_FORMATS = { chat, responses, messages };
export type FormatName = keyof typeof CLIENT_FORMATS;

/** Data of every complete event, `[DONE]` included. */
export function* readData(text: string): Generator<string> {
  const events = text.split('\n\n');
  events.pop();
  for (const event of events) {
    for (const line of event.split('\n')) if (line.startsWith('data: ')) yield line.slice('data: '.length);
  }
}

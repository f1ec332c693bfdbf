import type { Upstream } from '#contracts/catalog.js';

/** The parts of a stream of one dialect. */
export interface DialectStream {
  /** Events before the content. */
  opening: string;
  /** Event with this text. */
  text(text: string): string;
  /** Start of call `index`. */
  call(index: number): string;
  /** A piece of the arguments of call `index`. */
  args(index: number, text: string): string;
  /** The dialect has no pieces of arguments: `args` repeats the call. */
  hasWholeCalls?: true;
  /** Events after the content, with `REPORTED_USAGE`. */
  ending: string;
  /** The usage is the end of a stream. */
  endsWithUsage?: true;
  /** Event without content. */
  nothing: string;
  /** A whole reply to a plain request. */
  plain(text: string): string;
}

export const CONTENT = 'Hello';
export const REPORTED_USAGE = {
  promptTokens: 12,
  cachedTokens: 0,
  outputTokens: 3,
  reasoningTokens: 0,
  promptSource: 'reported',
  outputSource: 'reported',
} as const;

function event(data: unknown, name?: string): string {
  return `${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`;
}

function typed(data: { type: string; [field: string]: unknown }): string {
  return event(data, data.type);
}

function chunk(delta: unknown, finish: string | null = null): string {
  return event({ id: 'c1', object: 'chat.completion.chunk', model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] });
}

const CHAT_USAGE = { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 };

const chat: DialectStream = {
  opening: chunk({ role: 'assistant', content: '' }),
  text: (text) => chunk({ content: text }),
  call: (index) =>
    chunk({ tool_calls: [{ index, id: `call_${index}`, type: 'function', function: { name: 'get_weather', arguments: '' } }] }),
  args: (index, text) => chunk({ tool_calls: [{ index, function: { arguments: text } }] }),
  ending: `${chunk({}, 'stop')}${event({ choices: [], usage: CHAT_USAGE })}data: [DONE]\n\n`,
  nothing: event({ id: 'c1', choices: [] }),
  plain: (text) =>
    JSON.stringify({ choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }], usage: CHAT_USAGE }),
};

const RESPONSE_USAGE = { input_tokens: 12, output_tokens: 3, total_tokens: 15 };

const responses: DialectStream = {
  opening:
    typed({ type: 'response.created', response: { id: 'r1', object: 'response', status: 'in_progress', output: [] } }) +
    typed({ type: 'response.output_item.added', output_index: 0, item: { id: 'm1', type: 'message', role: 'assistant', content: [] } }),
  text: (text) => typed({ type: 'response.output_text.delta', item_id: 'm1', output_index: 0, content_index: 0, delta: text }),
  call: (index) =>
    typed({
      type: 'response.output_item.added',
      output_index: index + 1,
      item: { id: `f${index}`, type: 'function_call', call_id: `call_${index}`, name: 'get_weather', arguments: '' },
    }),
  args: (index, text) =>
    typed({ type: 'response.function_call_arguments.delta', item_id: `f${index}`, output_index: index + 1, delta: text }),
  ending: typed({ type: 'response.completed', response: { id: 'r1', object: 'response', status: 'completed', usage: RESPONSE_USAGE } }),
  endsWithUsage: true,
  nothing: typed({ type: 'response.in_progress', response: { id: 'r1', status: 'in_progress' } }),
  plain: (text) =>
    JSON.stringify({
      object: 'response',
      status: 'completed',
      output: [{ id: 'm1', type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] }],
      usage: RESPONSE_USAGE,
    }),
};

const messages: DialectStream = {
  opening:
    typed({ type: 'message_start', message: { id: 'm1', type: 'message', role: 'assistant', content: [] } }) +
    typed({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
  text: (text) => typed({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
  call: (index) =>
    typed({
      type: 'content_block_start',
      index: index + 1,
      content_block: { type: 'tool_use', id: `call_${index}`, name: 'get_weather', input: {} },
    }),
  args: (index, text) => typed({ type: 'content_block_delta', index: index + 1, delta: { type: 'input_json_delta', partial_json: text } }),
  ending:
    typed({ type: 'content_block_stop', index: 0 }) +
    typed({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { input_tokens: 12, output_tokens: 3 } }) +
    typed({ type: 'message_stop' }),
  nothing: typed({ type: 'ping' }),
  plain: (text) =>
    JSON.stringify({
      type: 'message',
      role: 'assistant',
      content: [{ type: 'text', text }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 12, output_tokens: 3 },
    }),
};

const GEMINI_USAGE = { usageMetadata: { promptTokenCount: 12, candidatesTokenCount: 3, totalTokenCount: 15 } };

function candidate(part: unknown, more: object = {}): object {
  return { index: 0, content: { role: 'model', parts: part === undefined ? [] : [part] }, ...more };
}

const gemini: DialectStream = {
  opening: event({ responseId: 'g1', modelVersion: 'm', candidates: [candidate({ text: '' })] }),
  text: (text) => event({ candidates: [candidate({ text })] }),
  call: (index) => event({ candidates: [candidate({ functionCall: { id: `call_${index}`, name: 'get_weather', args: {} } })] }),
  args: (index) => gemini.call(index),
  hasWholeCalls: true,
  ending: event({ candidates: [candidate(undefined, { finishReason: 'STOP' })], ...GEMINI_USAGE }),
  nothing: event({ responseId: 'g1', candidates: [] }),
  plain: (text) => JSON.stringify({ candidates: [candidate({ text }, { finishReason: 'STOP' })], ...GEMINI_USAGE }),
};

const CONVERSE_USAGE = { usage: { inputTokens: 12, outputTokens: 3, totalTokens: 15 } };

/** As events of the common framing. Frames of AWS have a suite of their own. */
const converse: DialectStream = {
  opening: event({ messageStart: { role: 'assistant' } }),
  text: (text) => event({ contentBlockDelta: { contentBlockIndex: 0, delta: { text } } }),
  call: (index) =>
    event({ contentBlockStart: { contentBlockIndex: index + 1, start: { toolUse: { toolUseId: `call_${index}`, name: 'get_weather' } } } }),
  args: (index, text) => event({ contentBlockDelta: { contentBlockIndex: index + 1, delta: { toolUse: { input: text } } } }),
  ending:
    event({ contentBlockStop: { contentBlockIndex: 0 } }) +
    event({ messageStop: { stopReason: 'end_turn' } }) +
    event({ metadata: CONVERSE_USAGE }),
  endsWithUsage: true,
  nothing: event({ messageStart: { role: 'assistant' } }),
  plain: (text) =>
    JSON.stringify({ output: { message: { role: 'assistant', content: [{ text }] } }, stopReason: 'end_turn', ...CONVERSE_USAGE }),
};

export const DIALECT_STREAMS: Record<Upstream['kind'], DialectStream> = {
  'openai-chat': chat,
  'openai-responses': responses,
  'anthropic-messages': messages,
  gemini,
  'bedrock-converse': converse,
};

const OUTPUT_COUNT = new RegExp(
  `("(?:(?:completion|output)_tokens|candidatesTokenCount|outputTokens)":)${REPORTED_USAGE.outputTokens}\\b`,
  'g',
);

/** Replaces the reported output tokens in the end of a stream or in a plain reply. */
export function counting(text: string, outputTokens: number): string {
  return text.replace(OUTPUT_COUNT, `$1${outputTokens}`);
}

/** Returns the number of bytes of a stream from which on its reader has the usage of `ending`. */
export function bytesUntilUsage(raw: Buffer): number {
  return raw.indexOf('\n\n', raw.toString('latin1').search(OUTPUT_COUNT)) + 2;
}

/** A complete valid stream. */
export function goodStream(kind: Upstream['kind'], text = CONTENT): string {
  const { opening, text: say, ending } = DIALECT_STREAMS[kind];
  return opening + say(text) + ending;
}

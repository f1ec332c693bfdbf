/**
 * A reply as canonical events and as payloads of an upstream's stream: 256 pieces of text, and one call with its arguments in 32
 * pieces.
 *
 * @typedef {'openai-chat' | 'openai-responses' | 'anthropic-messages' | 'gemini' | 'bedrock-converse'} Dialect
 */

const PIECES = Array.from({ length: 256 }, (_, index) => (index % 16 === 15 ? 'word.\n' : ` word${index % 10}`));
const ARGUMENTS = JSON.stringify({ path: 'src/main.ts', text: 'x'.repeat(150), more: ['a "quoted" one', 2, null] });
const CALL = { id: 'call_0123456789abcdef', name: 'tool_1' };
const ARGUMENT_PIECES = ARGUMENTS.match(/.{1,7}/gs) ?? [];

export const USAGE = /** @type {const} */ ({
  promptTokens: 50_000,
  cachedTokens: 40_000,
  outputTokens: 300,
  reasoningTokens: 0,
  promptSource: 'reported',
  outputSource: 'reported',
});

/** Without the terminal event. */
export const EVENTS = [
  ...PIECES.map((text) => ({ type: 'text-delta', text })),
  { type: 'tool-call-start', index: 0, callId: CALL.id, tool: { name: CALL.name }, kind: 'function' },
  ...ARGUMENT_PIECES.map((text) => ({ type: 'tool-call-delta', index: 0, text })),
  { type: 'tool-call-end', index: 0 },
];

/** @type {import('../../libs/inference/src/completion.js').Completion} */
export const COMPLETION = {
  text: PIECES.join(''),
  trailingText: '',
  refusal: '',
  trailingRefusal: '',
  reasoning: '',
  leadingReasoning: '',
  toolCalls: [{ callId: CALL.id, tool: { name: CALL.name }, kind: 'function', argumentsText: ARGUMENTS }],
  finishReason: 'tool-calls',
  usage: USAGE,
};

/** One chunk each, as servers send them. @type {Record<Dialect, () => { event?: string, data: string }[]>} */
export const UPSTREAM_STREAMS = {
  'openai-chat': () => {
    const chunk = (/** @type {object} */ delta, /** @type {string | null} */ finish = null) => ({
      data: JSON.stringify({
        id: 'chatcmpl-0123456789abcdef',
        object: 'chat.completion.chunk',
        created: 1_760_000_000,
        model: 'model-1',
        choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
      }),
    });
    const usage = { prompt_tokens: 50_000, completion_tokens: 300, total_tokens: 50_300, prompt_tokens_details: { cached_tokens: 40_000 } };
    return [
      ...PIECES.map((content) => chunk({ content })),
      chunk({ tool_calls: [{ index: 0, id: CALL.id, type: 'function', function: { name: CALL.name, arguments: '' } }] }),
      ...ARGUMENT_PIECES.map((text) => chunk({ tool_calls: [{ index: 0, function: { arguments: text } }] })),
      chunk({}, 'tool_calls'),
      { data: JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [], usage }) },
      { data: '[DONE]' },
    ];
  },
  'openai-responses': () => {
    const message = { id: 'msg_0123456789abcdef', type: 'message', status: 'in_progress', role: 'assistant', content: [] };
    const call = {
      id: 'fc_0123456789abcdef',
      type: 'function_call',
      status: 'in_progress',
      call_id: CALL.id,
      name: CALL.name,
      arguments: '',
    };
    const done = { ...call, status: 'completed', arguments: ARGUMENTS };
    const said = { ...message, status: 'completed', content: [{ type: 'output_text', text: PIECES.join(''), annotations: [] }] };
    const usage = { input_tokens: 50_000, input_tokens_details: { cached_tokens: 40_000 }, output_tokens: 300, total_tokens: 50_300 };
    const events = [
      { type: 'response.output_item.added', output_index: 0, item: message },
      ...PIECES.map((delta) => ({
        type: 'response.output_text.delta',
        item_id: message.id,
        output_index: 0,
        content_index: 0,
        delta,
        logprobs: [],
      })),
      { type: 'response.output_item.done', output_index: 0, item: said },
      { type: 'response.output_item.added', output_index: 1, item: call },
      ...ARGUMENT_PIECES.map((delta) => ({ type: 'response.function_call_arguments.delta', item_id: call.id, output_index: 1, delta })),
      { type: 'response.output_item.done', output_index: 1, item: done },
      { type: 'response.completed', response: { id: 'resp_1', object: 'response', status: 'completed', output: [said, done], usage } },
    ];
    return events.map((event, index) => ({ event: event.type, data: JSON.stringify({ ...event, sequence_number: index }) }));
  },
  'anthropic-messages': () => {
    const usage = { input_tokens: 10_000, cache_read_input_tokens: 40_000, output_tokens: 1 };
    const events = [
      {
        type: 'message_start',
        message: { id: 'msg_1', type: 'message', role: 'assistant', content: [], model: 'm', stop_reason: null, usage },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      ...PIECES.map((text) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })),
      { type: 'content_block_stop', index: 0 },
      { type: 'content_block_start', index: 1, content_block: { type: 'tool_use', id: CALL.id, name: CALL.name, input: {} } },
      ...ARGUMENT_PIECES.map((text) => ({
        type: 'content_block_delta',
        index: 1,
        delta: { type: 'input_json_delta', partial_json: text },
      })),
      { type: 'content_block_stop', index: 1 },
      { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: { output_tokens: 300 } },
      { type: 'message_stop' },
    ];
    return events.map((event) => ({ event: event.type, data: JSON.stringify(event) }));
  },
  gemini: () => {
    const usage = { promptTokenCount: 50_000, cachedContentTokenCount: 40_000, candidatesTokenCount: 300, totalTokenCount: 50_300 };
    const chunk = (/** @type {object} */ part, /** @type {object} */ more = {}) => ({
      data: JSON.stringify({
        candidates: [{ content: { parts: [part], role: 'model' }, index: 0, ...more }],
        usageMetadata: usage,
        modelVersion: 'm',
        responseId: 'r',
      }),
    });
    const call = { functionCall: { id: CALL.id, name: CALL.name, args: JSON.parse(ARGUMENTS) } };
    return [...PIECES.map((text) => chunk({ text })), chunk(call), chunk({ text: '' }, { finishReason: 'STOP' })];
  },
  'bedrock-converse': () => {
    const usage = { inputTokens: 10_000, outputTokens: 300, totalTokens: 10_300, cacheReadInputTokens: 40_000 };
    const delta = (/** @type {number} */ contentBlockIndex, /** @type {object} */ fields) => ({
      contentBlockDelta: { contentBlockIndex, delta: fields },
    });
    const events = [
      { messageStart: { role: 'assistant' } },
      ...PIECES.map((text) => delta(0, { text })),
      { contentBlockStop: { contentBlockIndex: 0 } },
      { contentBlockStart: { contentBlockIndex: 1, start: { toolUse: { toolUseId: CALL.id, name: CALL.name } } } },
      ...ARGUMENT_PIECES.map((input) => delta(1, { toolUse: { input } })),
      { contentBlockStop: { contentBlockIndex: 1 } },
      { messageStop: { stopReason: 'tool_use' } },
      { metadata: { usage } },
    ];
    return events.map((event) => ({ data: JSON.stringify(event) }));
  },
};

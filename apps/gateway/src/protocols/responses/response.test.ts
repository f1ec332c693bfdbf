import type { Completion } from '#inference/completion.js';
import { renderFinishReason } from './finish-reason.js';
import { parseRequest } from './request.js';
import { renderCompletion } from './response.js';

const reply = { id: 'x1', requestId: 'req_x1', createdSeconds: 1_760_000_000, nowSeconds: () => 1_760_000_002, model: 'sim-fast' };
const completion: Completion = {
  text: 'Hi.',
  trailingText: '',
  refusal: '',
  trailingRefusal: '',
  reasoning: '',
  leadingReasoning: '',
  toolCalls: [],
  finishReason: 'stop',
  usage: { promptTokens: 12, cachedTokens: 4, outputTokens: 9, reasoningTokens: 5, promptSource: 'reported', outputSource: 'reported' },
};

function render(body: object, changes: Partial<Completion> = {}) {
  return JSON.parse(renderCompletion(reply, parseRequest({ model: 'sim-fast', input: 'Hello', ...body }), { ...completion, ...changes }));
}

test('the full set of fields, with their defaults [responses-object, responses-message-item, responses-usage, D10, R-3, R-8f, R-14, R-15]', () => {
  expect(render({})).toEqual({
    id: 'resp_x1',
    object: 'response',
    created_at: 1_760_000_000,
    completed_at: 1_760_000_002,
    status: 'completed',
    access_programs: null,
    background: false,
    error: null,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: null,
    max_tool_calls: null,
    model: 'sim-fast',
    output: [
      {
        id: 'msg_x1_0',
        type: 'message',
        status: 'completed',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'Hi.', annotations: [], logprobs: [] }],
      },
    ],
    parallel_tool_calls: true,
    previous_response_id: null,
    prompt_cache_key: null,
    reasoning: { effort: null, summary: null },
    safety_identifier: null,
    service_tier: 'default',
    store: false,
    temperature: 1,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: [],
    top_p: 1,
    top_logprobs: 0,
    presence_penalty: 0,
    frequency_penalty: 0,
    truncation: 'disabled',
    usage: {
      input_tokens: 12,
      input_tokens_details: { cached_tokens: 4, cache_write_tokens: 0 },
      output_tokens: 9,
      output_tokens_details: { reasoning_tokens: 5 },
      total_tokens: 21,
    },
    user: null,
    metadata: {},
  });
});

test('echoed fields are returned unchanged [responses-object, responses-metadata, responses-parallel, R-3, R-15]', () => {
  const echoed = {
    instructions: 'Be brief.',
    max_output_tokens: 64,
    metadata: { b: '2', a: '' },
    parallel_tool_calls: false,
    prompt_cache_key: 'key-1',
    temperature: 0,
    text: { format: { type: 'json_object' }, verbosity: 'low' },
    tool_choice: { type: 'function', name: 'f' },
    tools: [{ type: 'function', name: 'f', description: 'F.', parameters: { z: 1, a: { y: 2 } }, strict: true, extra: [1] }],
    top_p: 0,
  };
  const response = render(echoed);
  expect(response).toMatchObject(echoed);
  expect(JSON.stringify(response.tools)).toBe(JSON.stringify(echoed.tools));
});

test('`include` is ignored: reasoning is never encrypted [responses-include]', () => {
  const { output } = render({ include: ['reasoning.encrypted_content'] }, { reasoning: 'Hm.', leadingReasoning: 'Hm.' });
  const summary = [{ type: 'summary_text', text: 'Hm.' }];
  expect(output[0]).toEqual({ id: 'rs_x1_0', type: 'reasoning', status: 'completed', summary, encrypted_content: null });
});

test('metadata of 16 pairs is returned unchanged [responses-metadata, limit-metadata]', () => {
  const metadata = Object.fromEntries(Array.from({ length: 16 }, (_, index) => [`key_${index}`, String(index)]));
  expect(render({ metadata }).metadata).toEqual(metadata);
});

test('the end user is returned as it was sent [client-echo]', () => {
  const sent = { user: 'u2', safety_identifier: 'u1', prompt_cache_key: 'k' };
  expect(render(sent)).toMatchObject(sent);
});

test('store is false and reasoning has no effort, whatever the request asks for [no-stored-state, responses-store, responses-reasoning]', () => {
  const response = render({ store: true, reasoning: { effort: 'high' }, truncation: 'auto', service_tier: 'flex' });
  expect(response).toEqual(render({}));
  expect(response).toMatchObject({ store: false, reasoning: { effort: null, summary: null } });
});

test.each([
  ['stop', { status: 'completed' }],
  ['stop-sequence', { status: 'completed' }],
  ['tool-calls', { status: 'completed' }],
  ['length', { status: 'incomplete', incompleteReason: 'max_output_tokens' }],
  ['content-filter', { status: 'incomplete', incompleteReason: 'content_filter' }],
] as const)('%s ends as %j [responses-status, R-13]', (reason, ending) => {
  expect(renderFinishReason(reason)).toEqual(ending);
});

test('only the last item of a truncated reply is incomplete [R-13, T-35]', () => {
  const call = { callId: 'c', tool: { name: 'f' }, kind: 'function' as const, argumentsText: '{"a' };
  const { output } = render({}, { leadingReasoning: 'Hm.', toolCalls: [call], finishReason: 'length' });
  expect(output.map(({ type, status }: { type: string; status: string }) => [type, status])).toEqual([
    ['reasoning', 'completed'],
    ['message', 'completed'],
    ['function_call', 'incomplete'],
  ]);
});

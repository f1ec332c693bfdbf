import type { StreamEvent } from '#inference/stream-event.js';
import { collectCompletion } from '#testing/collect-completion.js';
import type { ReplyContext } from '../protocol-adapter.js';
import { parseRequest } from './request.js';
import { renderCompletion } from './response.js';
import { renderStream } from './stream.js';

/**
 * Required fields of each returned object in the published Open Responses schema (2026-04-24), by the object's `type`. Objects without a `type`
 * are listed by `object` or by their field. Only the types of the `openai` package require `logprobs`, `access_programs` and
 * `cache_write_tokens`.
 */
const item = ['type', 'id', 'status'];
const ofItem = ['type', 'sequence_number', 'item_id', 'output_index'];
const ofResponse = ['type', 'sequence_number', 'response'];
const REQUIRED: Record<string, readonly string[]> = {
  response: [
    ...['id', 'object', 'created_at', 'completed_at', 'status', 'incomplete_details', 'model', 'previous_response_id', 'instructions'],
    ...['output', 'error', 'tools', 'tool_choice', 'truncation', 'parallel_tool_calls', 'text', 'top_p', 'presence_penalty'],
    ...['frequency_penalty', 'top_logprobs', 'temperature', 'reasoning', 'user', 'usage', 'max_output_tokens', 'max_tool_calls'],
    ...['store', 'background', 'service_tier', 'metadata', 'safety_identifier', 'prompt_cache_key', 'access_programs'],
  ],
  usage: ['input_tokens', 'output_tokens', 'total_tokens', 'input_tokens_details', 'output_tokens_details'],
  input_tokens_details: ['cached_tokens', 'cache_write_tokens'],
  output_tokens_details: ['reasoning_tokens'],
  reasoning_settings: ['effort', 'summary'],
  error: ['code', 'message'],
  incomplete_details: ['reason'],
  text: ['format'],
  message: [...item, 'role', 'content'],
  reasoning: [...item, 'summary'],
  function_call: [...item, 'call_id', 'name', 'arguments'],
  custom_tool_call: ['type', 'call_id', 'name', 'input'],
  output_text: ['type', 'text', 'annotations', 'logprobs'],
  refusal: ['type', 'refusal'],
  summary_text: ['type', 'text'],
  function: ['type', 'name', 'description', 'parameters', 'strict'],
  custom: ['type', 'name'],
  namespace: ['type', 'name', 'description', 'tools'],
  allowed_tools: ['type', 'tools', 'mode'],
  json_schema: ['type', 'name', 'description', 'schema', 'strict'],
  'response.created': ofResponse,
  'response.in_progress': ofResponse,
  'response.completed': ofResponse,
  'response.incomplete': ofResponse,
  'response.output_item.added': ['type', 'sequence_number', 'output_index', 'item'],
  'response.output_item.done': ['type', 'sequence_number', 'output_index', 'item'],
  'response.content_part.added': [...ofItem, 'content_index', 'part'],
  'response.content_part.done': [...ofItem, 'content_index', 'part'],
  'response.output_text.delta': [...ofItem, 'content_index', 'delta', 'logprobs'],
  'response.output_text.done': [...ofItem, 'content_index', 'text', 'logprobs'],
  'response.refusal.delta': [...ofItem, 'content_index', 'delta'],
  'response.refusal.done': [...ofItem, 'content_index', 'refusal'],
  'response.reasoning_summary_part.added': [...ofItem, 'summary_index', 'part'],
  'response.reasoning_summary_part.done': [...ofItem, 'summary_index', 'part'],
  'response.reasoning_summary_text.delta': [...ofItem, 'summary_index', 'delta'],
  'response.reasoning_summary_text.done': [...ofItem, 'summary_index', 'text'],
  'response.function_call_arguments.delta': [...ofItem, 'delta'],
  'response.function_call_arguments.done': [...ofItem, 'arguments'],
  'response.custom_tool_call_input.delta': [...ofItem, 'delta'],
  'response.custom_tool_call_input.done': [...ofItem, 'input'],
};

/** A request with as few fields as possible, so that the reply must add all required fields. */
const parsed = parseRequest({
  model: 'sim-fast',
  input: 'Hello',
  tools: [
    { type: 'function', name: 'f' },
    { type: 'custom', name: 'c' },
    { type: 'namespace', name: 'n', tools: [{ type: 'function', name: 'g' }] },
    { type: 'web_search' },
  ],
  tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'f' }] },
  text: { format: { type: 'json_schema', name: 's', schema: { type: 'object', properties: { type: { const: 'response.created' } } } } },
});

const events: StreamEvent[] = [
  { type: 'reasoning-delta', text: 'Hm.' },
  { type: 'text-delta', text: 'Hello.' },
  { type: 'refusal-delta', text: 'No.' },
  { type: 'tool-call-start', index: 0, callId: 'call_1', tool: { name: 'f' }, kind: 'function' },
  { type: 'tool-call-delta', index: 0, text: '{}' },
  { type: 'tool-call-end', index: 0 },
  { type: 'tool-call-start', index: 1, callId: 'call_2', tool: { name: 'c' }, kind: 'custom' },
  { type: 'tool-call-delta', index: 1, text: 'date' },
  { type: 'tool-call-end', index: 1 },
  {
    type: 'usage-report',
    usage: { promptTokens: 9, cachedTokens: 4, outputTokens: 2, reasoningTokens: 0, promptSource: 'reported', outputSource: 'reported' },
  },
  { type: 'completion-finish', reason: 'length' },
];

test('every object of a plain reply has the fields that the Open Responses schema requires [R-3]', () => {
  const seen = new Set<string>();
  expect(missingIn(JSON.parse(renderCompletion(REPLY, parsed, collectCompletion(events))), seen)).toEqual([]);
  expect(seen).toContain('namespace');
});

test('every object of a stream has the fields that the Open Responses schema requires [R-3]', () => {
  const { usage, finishReason } = collectCompletion(events);
  const renderer = renderStream(REPLY, parsed);
  const frames = renderer.render(events) + renderer.finish('stop', usage);
  const incomplete = renderStream(REPLY, parsed);
  const text = frames + incomplete.render(events) + incomplete.finish(finishReason, usage);
  const data = text.split('\n').filter((line) => line.startsWith('data: '));
  const seen = new Set<string>();
  expect(data.flatMap((line) => missingIn(JSON.parse(line.slice('data: '.length)), seen))).toEqual([]);
  expect([...seen].filter((kind) => kind.startsWith('response.')).sort()).toEqual(
    Object.keys(REQUIRED)
      .filter((kind) => kind.startsWith('response.'))
      .sort(),
  );
});

/** Returns `kind.field` of each missing required field within the value. Schemas of the client are skipped. */
function missingIn(value: unknown, seen: Set<string>, place = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((entry) => missingIn(entry, seen));
  if (typeof value !== 'object' || value === null) return [];
  const fields = value as Record<string, unknown>;
  const kind = String(fields.type ?? fields.object ?? place);
  seen.add(kind);
  const required = kind === 'reasoning' && !('type' in fields) ? REQUIRED.reasoning_settings : REQUIRED[kind];
  const within = Object.entries(fields).filter(([field]) => field !== 'schema' && field !== 'parameters');
  const isChoice = place === 'tool_choice' || kind === 'allowed_tools';
  return [
    ...(required ?? []).filter((field) => !(field in fields)).map((field) => `${kind}.${field}`),
    ...(isChoice ? [] : within.flatMap(([field, entry]) => missingIn(entry, seen, field))),
  ];
}

const REPLY: ReplyContext = { id: 'a1', requestId: 'req_a1', createdSeconds: 1_760_000_000, nowSeconds: () => 1_760_000_001, model: 'm' };

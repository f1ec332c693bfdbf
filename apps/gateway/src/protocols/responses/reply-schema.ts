import {
  anyObject,
  anything,
  byProperty,
  cost,
  count,
  described,
  either,
  type JsonSchema,
  list,
  orNull,
  ref,
  replyObject,
  text,
  word,
} from '../json-schema/json-schema.js';

const NULL: JsonSchema = { type: 'null' };
const ZERO: JsonSchema = { type: 'integer', const: 0 };
const FALSE: JsonSchema = { type: 'boolean', const: false };
const EMPTY: JsonSchema = { type: 'array', items: anything, maxItems: 0 };
const ITEM_STATUS = word('in_progress', 'completed', 'incomplete');

const item = (type: string, prefix: string) => ({ id: { type: 'string', pattern: `^${prefix}_` }, type: word(type), status: ITEM_STATUS });
const call = { call_id: text, name: text };
const namespace = { namespace: described(text, 'Namespace of the tool, if it was declared in one.') };

/** Returns the schema of an event about one item. */
function itemEvent(type: string, fields: Record<string, JsonSchema>): JsonSchema {
  return event(type, { item_id: text, output_index: count, ...fields });
}

function event(type: string, fields: Record<string, JsonSchema>): JsonSchema {
  return replyObject({ type: word(type), sequence_number: count, ...fields });
}

const ofText = { content_index: count };
const ofSummary = { summary_index: count };

/** Component name and schema of each event type. */
const EVENTS: Record<string, [component: string, schema: (type: string) => JsonSchema]> = {
  'response.created': ['ResponseEventCreated', (type) => event(type, { response: ref('Response') })],
  'response.in_progress': ['ResponseEventInProgress', (type) => event(type, { response: ref('Response') })],
  'response.output_item.added': ['ResponseItemAdded', (type) => event(type, { output_index: count, item: ref('ResponseItem') })],
  'response.content_part.added': ['ResponsePartAdded', (type) => itemEvent(type, { ...ofText, part: ref('ResponsePart') })],
  'response.output_text.delta': ['ResponseTextDelta', (type) => itemEvent(type, { ...ofText, delta: text, logprobs: EMPTY })],
  'response.output_text.done': ['ResponseTextDone', (type) => itemEvent(type, { ...ofText, text, logprobs: EMPTY })],
  'response.refusal.delta': ['ResponseRefusalDelta', (type) => itemEvent(type, { ...ofText, delta: text })],
  'response.refusal.done': ['ResponseRefusalDone', (type) => itemEvent(type, { ...ofText, refusal: text })],
  'response.content_part.done': ['ResponsePartDone', (type) => itemEvent(type, { ...ofText, part: ref('ResponsePart') })],
  'response.reasoning_summary_part.added': [
    'ResponseSummaryAdded',
    (type) => itemEvent(type, { ...ofSummary, part: ref('ResponseSummary') }),
  ],
  'response.reasoning_summary_text.delta': ['ResponseSummaryDelta', (type) => itemEvent(type, { ...ofSummary, delta: text })],
  'response.reasoning_summary_text.done': ['ResponseSummaryTextDone', (type) => itemEvent(type, { ...ofSummary, text })],
  'response.reasoning_summary_part.done': [
    'ResponseSummaryDone',
    (type) => itemEvent(type, { ...ofSummary, part: ref('ResponseSummary') }),
  ],
  'response.function_call_arguments.delta': ['ResponseArgumentsDelta', (type) => itemEvent(type, { delta: text })],
  'response.function_call_arguments.done': ['ResponseArgumentsDone', (type) => itemEvent(type, { name: text, arguments: text })],
  'response.custom_tool_call_input.delta': ['ResponseInputDelta', (type) => itemEvent(type, { delta: text })],
  'response.custom_tool_call_input.done': ['ResponseInputDone', (type) => itemEvent(type, { input: text })],
  'response.output_item.done': ['ResponseItemDone', (type) => event(type, { output_index: count, item: ref('ResponseItem') })],
  'response.completed': ['ResponseEventCompleted', (type) => event(type, { response: ref('Response') })],
  'response.incomplete': ['ResponseEventIncomplete', (type) => event(type, { response: ref('Response') })],
  'response.failed': ['ResponseEventFailed', (type) => event(type, { response: ref('Response') })],
  keepalive: ['ResponseKeepAlive', (type) => event(type, {})],
};

/** Schemas of the plain replies and stream events that `response.ts`, `stream.ts` and `errors.ts` render. */
export const REPLY_SCHEMAS: Record<string, JsonSchema> = {
  Response: replyObject({
    id: { type: 'string', pattern: '^resp_' },
    object: word('response'),
    created_at: described(count, 'Unix seconds.'),
    completed_at: described(orNull(count), 'Unix seconds; null unless the Response is completed.'),
    status: word('in_progress', 'completed', 'incomplete', 'failed'),
    error: described(orNull(replyObject({ code: text, message: text })), 'In a failed Response: a code of the table of errors.'),
    incomplete_details: orNull(replyObject({ reason: word('max_output_tokens', 'content_filter') })),
    output: described(list(ref('ResponseItem')), 'Reasoning, the message, the calls.'),
    usage: described(orNull(ref('ResponseUsage')), 'Null until the reply has ended.'),
    model: text,
    metadata: { type: 'object', additionalProperties: text },
    store: FALSE,
    ...echo(),
    ...notOffered(),
  }),
  ResponseItem: byProperty('type', {
    reasoning: 'ResponseReasoning',
    message: 'ResponseMessage',
    function_call: 'ResponseFunctionCall',
    custom_tool_call: 'ResponseCustomCall',
  }),
  ResponseReasoning: replyObject({ ...item('reasoning', 'rs'), summary: list(ref('ResponseSummary')), encrypted_content: NULL }),
  ResponseMessage: replyObject({ ...item('message', 'msg'), role: word('assistant'), content: list(ref('ResponsePart')) }),
  ResponseFunctionCall: replyObject(
    { ...item('function_call', 'fc'), ...call, arguments: described(text, 'JSON as written by the model: validate it.') },
    namespace,
  ),
  ResponseCustomCall: replyObject({ ...item('custom_tool_call', 'ctc'), ...call, input: text }, namespace),
  ResponsePart: byProperty('type', { output_text: 'ResponseText', refusal: 'ResponseRefusal' }),
  ResponseRefusal: replyObject({ type: word('refusal'), refusal: described(text, "The model's refusal.") }),
  ResponseText: replyObject({ type: word('output_text'), text, annotations: EMPTY, logprobs: EMPTY }),
  ResponseSummary: replyObject({ type: word('summary_text'), text }),
  ResponseUsage: replyObject(
    {
      input_tokens: described(count, 'Cached tokens included.'),
      input_tokens_details: replyObject({ cached_tokens: count, cache_write_tokens: ZERO }),
      output_tokens: described(count, 'Reasoning included.'),
      output_tokens_details: replyObject({ reasoning_tokens: count }),
      total_tokens: count,
    },
    { cost },
  ),
  ResponseTool: byProperty('type', {
    function: 'ResponseFunctionTool',
    custom: 'ResponseCustomTool',
    namespace: 'ResponseNamespace',
  }),
  ResponseFunctionTool: repeated({
    type: word('function'),
    name: text,
    description: orNull(text),
    parameters: orNull(anyObject),
    strict: orNull({ type: 'boolean' }),
  }),
  ResponseCustomTool: repeated({ type: word('custom'), name: text }),
  ResponseNamespace: repeated({
    type: word('namespace'),
    name: text,
    description: text,
    tools: list(byProperty('type', { function: 'ResponseFunctionTool', custom: 'ResponseCustomTool' })),
  }),
  ResponseTextFormat: byProperty('type', {
    text: 'ResponsePlainFormat',
    json_object: 'ResponsePlainFormat',
    json_schema: 'ResponseJsonSchemaFormat',
  }),
  ResponsePlainFormat: repeated({ type: word('text', 'json_object') }),
  ResponseJsonSchemaFormat: repeated({
    type: word('json_schema'),
    name: text,
    description: orNull(text),
    schema: anyObject,
    strict: { type: 'boolean' },
  }),
  ResponseStreamEvent: {
    ...byProperty('type', Object.fromEntries(Object.entries(EVENTS).map(([type, [component]]) => [type, component]))),
    description:
      'The `data:` of one event, whose `event:` is its `type`. Items come one after the other, each ended by ' +
      '`response.output_item.done`. The last event is `response.completed`, `response.incomplete` or `response.failed`; a stream ' +
      'without one is incomplete. Comments (lines that begin with a colon) and `keepalive` are keep-alives.',
  },
  ...Object.fromEntries(Object.entries(EVENTS).map(([type, [component, schema]]) => [component, schema(type)])),
};

/** Returns the schema of a request object that the reply repeats with all its fields. */
function repeated(required: Record<string, JsonSchema>): JsonSchema {
  return { ...replyObject(required), additionalProperties: true };
}

/** Fields that a Response repeats from its request. */
function echo(): Record<string, JsonSchema> {
  return {
    instructions: orNull(text),
    max_output_tokens: orNull({ type: 'integer', minimum: 1 }),
    parallel_tool_calls: { type: 'boolean' },
    prompt_cache_key: orNull(text),
    temperature: { type: 'number' },
    text: repeated({ format: ref('ResponseTextFormat') }),
    tool_choice: either({ type: 'string' }, { type: 'object' }),
    tools: described(list(ref('ResponseTool')), 'Tools of the request, without hosted tools.'),
    top_p: { type: 'number' },
  };
}

/** Fields for features that the gateway does not offer. They are constant. */
function notOffered(): Record<string, JsonSchema> {
  return {
    access_programs: NULL,
    background: FALSE,
    frequency_penalty: ZERO,
    max_tool_calls: NULL,
    presence_penalty: ZERO,
    previous_response_id: NULL,
    reasoning: replyObject({ effort: NULL, summary: NULL }),
    safety_identifier: NULL,
    service_tier: word('default'),
    top_logprobs: ZERO,
    truncation: word('disabled'),
    user: NULL,
  };
}

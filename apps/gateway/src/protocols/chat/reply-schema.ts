import {
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

const unknownHere: JsonSchema = { type: 'null', description: 'For clients that require the field.' };
const FINISH_REASON = word('stop', 'length', 'tool_calls');

/** Schemas of the plain replies and stream events that `response.ts` and `stream.ts` render. */
export const REPLY_SCHEMAS: Record<string, JsonSchema> = {
  ChatCompletion: replyObject({
    id: makeIdSchema('chatcmpl-'),
    object: word('chat.completion'),
    created: described(count, 'Unix seconds.'),
    model: text,
    system_fingerprint: unknownHere,
    choices: { ...list(ref('ChatChoice')), minItems: 1, maxItems: 1 },
    usage: ref('ChatUsage'),
  }),
  ChatChoice: replyObject({
    index: { type: 'integer', const: 0 },
    message: ref('ChatReplyMessage'),
    logprobs: unknownHere,
    finish_reason: FINISH_REASON,
  }),
  ChatReplyMessage: replyObject(
    {
      role: word('assistant'),
      content: described(
        orNull(text),
        'Null if the reply has no text, but tool calls, a refusal, or reasoning that used the whole output limit.',
      ),
      refusal: described(orNull(text), "The model's refusal to answer. `content` is null unless text came before it."),
    },
    {
      reasoning_content: described(text, 'The reasoning of the model, if the upstream shows it.'),
      tool_calls: list(ref('ChatToolCall')),
    },
  ),
  ChatToolCall: byProperty('type', { function: 'ChatFunctionCall', custom: 'ChatCustomCall' }),
  ChatFunctionCall: replyObject({
    id: text,
    type: word('function'),
    function: replyObject({ name: text, arguments: described(text, 'JSON as written by the model: validate it.') }),
  }),
  ChatCustomCall: {
    ...replyObject({ id: text, type: word('custom'), custom: replyObject({ name: text, input: text }) }),
    description: 'A call of a tool that the request declared as custom.',
  },
  ChatUsage: replyObject(
    {
      prompt_tokens: described(count, 'Cached tokens included.'),
      completion_tokens: described(count, 'Reasoning included.'),
      total_tokens: count,
      prompt_tokens_details: replyObject({ cached_tokens: count }),
      completion_tokens_details: replyObject({ reasoning_tokens: count }),
    },
    { cost },
  ),
  ChatStreamEvent: {
    ...either(ref('ChatCompletionChunk'), ref('Error'), word('[DONE]')),
    description:
      'The `data:` of one event. Each event is a chunk; the last one is the text `[DONE]`, or an error if the reply failed. A stream ' +
      'without `[DONE]` is incomplete. Comments (lines that begin with a colon) are keep-alives.',
  },
  ChatCompletionChunk: replyObject(
    {
      id: makeIdSchema('chatcmpl-'),
      object: word('chat.completion.chunk'),
      created: count,
      model: text,
      choices: described({ ...list(ref('ChatChunkChoice')), maxItems: 1 }, 'Empty in the chunk with the usage.'),
    },
    { usage: ref('ChatUsage') },
  ),
  ChatChunkChoice: replyObject({ index: { type: 'integer', const: 0 }, delta: ref('ChatDelta'), finish_reason: orNull(FINISH_REASON) }),
  ChatDelta: replyObject(
    {},
    { role: word('assistant'), content: orNull(text), refusal: text, reasoning_content: text, tool_calls: list(ref('ChatToolCallDelta')) },
  ),
  ChatToolCallDelta: {
    ...replyObject(
      { index: count },
      {
        id: text,
        type: word('function', 'custom'),
        function: replyObject({ arguments: text }, { name: text }),
        custom: replyObject({ input: text }, { name: text }),
      },
    ),
    description: 'The first piece of a call has its id and name; later pieces with the same index continue its arguments or its input.',
  },
};

function makeIdSchema(prefix: string): JsonSchema {
  return { type: 'string', pattern: `^${prefix}` };
}

import {
  anyObject,
  byProperty,
  cost,
  count,
  described,
  type JsonSchema,
  list,
  ref,
  replyObject,
  text,
  word,
} from '../json-schema/json-schema.js';

const index = count;
const STOP_REASON = word('end_turn', 'max_tokens', 'tool_use', 'refusal');
const NULL: JsonSchema = { type: 'null' };

/** Schemas of the plain replies and stream events that `response.ts`, `stream.ts` and `errors.ts` render. */
export const REPLY_SCHEMAS: Record<string, JsonSchema> = {
  Message: replyObject({ ...shell(), content: list(ref('MessageBlock')), stop_reason: STOP_REASON, stop_sequence: NULL }),
  MessageBlock: byProperty('type', { text: 'MessageText', thinking: 'MessageThinking', tool_use: 'MessageToolUse' }),
  MessageText: replyObject({ type: word('text'), text }),
  MessageThinking: replyObject({ type: word('thinking'), thinking: text, signature: word('') }),
  MessageToolUse: replyObject({
    type: word('tool_use'),
    id: text,
    name: text,
    input: described(anyObject, 'Arguments that are not a JSON object end with a member `_raw` that holds all that the model wrote.'),
  }),
  MessageUsage: replyObject(
    {
      input_tokens: described(count, 'Cached tokens not included.'),
      cache_creation_input_tokens: { type: 'integer', const: 0 },
      cache_read_input_tokens: count,
      output_tokens: described(count, 'Reasoning included.'),
    },
    { cost },
  ),
  TokenCount: replyObject({ input_tokens: described(count, 'An estimate from the size of the prompt.') }),
  MessageStreamEvent: {
    ...byProperty('type', {
      message_start: 'MessageStart',
      content_block_start: 'MessageBlockStart',
      content_block_delta: 'MessageBlockDelta',
      content_block_stop: 'MessageBlockStop',
      message_delta: 'MessageDelta',
      message_stop: 'MessageStop',
      ping: 'MessagePing',
      error: 'MessagesError',
    }),
    description:
      'The `data:` of one event, whose `event:` is its `type`. Blocks come one after the other. The last event is `message_stop`, or ' +
      '`error` after a failure; a stream without either is incomplete. `ping` and empty deltas are keep-alives.',
  },
  MessageStart: replyObject({
    type: word('message_start'),
    message: replyObject({ ...shell(), content: { ...list(ref('MessageBlock')), maxItems: 0 }, stop_reason: NULL, stop_sequence: NULL }),
  }),
  MessageBlockStart: replyObject({ type: word('content_block_start'), index, content_block: ref('MessageBlock') }),
  MessageBlockDelta: replyObject({
    type: word('content_block_delta'),
    index,
    delta: byProperty('type', {
      text_delta: 'MessageTextDelta',
      thinking_delta: 'MessageThinkingDelta',
      input_json_delta: 'MessageInputDelta',
    }),
  }),
  MessageTextDelta: replyObject({ type: word('text_delta'), text }),
  MessageThinkingDelta: replyObject({ type: word('thinking_delta'), thinking: text }),
  MessageInputDelta: replyObject({ type: word('input_json_delta'), partial_json: described(text, 'Joined, they are one JSON object.') }),
  MessageBlockStop: replyObject({ type: word('content_block_stop'), index }),
  MessageDelta: replyObject({
    type: word('message_delta'),
    delta: replyObject({ stop_reason: STOP_REASON, stop_sequence: NULL }),
    usage: ref('MessageUsage'),
  }),
  MessageStop: replyObject({ type: word('message_stop') }),
  MessagePing: replyObject({ type: word('ping') }),
};

function shell(): Record<string, JsonSchema> {
  return {
    id: { type: 'string', pattern: '^msg_' },
    type: word('message'),
    role: word('assistant'),
    model: text,
    usage: ref('MessageUsage'),
  };
}

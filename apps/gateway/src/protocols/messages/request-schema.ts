import { TOOLS_MAX } from '../body-fields/body-fields.js';
import { stopSequences } from '../body-fields/stop-sequences.js';
import { fieldSchemas } from '../json-schema/fields-schema.js';
import {
  anyObject,
  anything,
  byProperty,
  described,
  either,
  flag,
  type JsonSchema,
  list,
  name,
  ref,
  requestObject,
  text,
  textOr,
  word,
} from '../json-schema/json-schema.js';
import { MessagesFields } from './request.dto.js';
import { CONTENT_OF_OTHERS } from './turns.js';

const { required, optional } = fieldSchemas(MessagesFields, {
  model: "Id of a model from `GET /v1/models`, case-sensitive. Other vendors' names are `not_found_error`.",
  max_tokens: 'Maximum number of tokens to generate, including reasoning.',
  temperature: 'Sampling temperature.',
  top_p: 'Nucleus sampling.',
  stream: 'True: the reply is sent as server-sent events.',
});
const { max_tokens, ...otherFields } = optional;

const prompt = {
  messages: described(
    { ...list(ref('MessagesTurn')), minItems: 1 },
    'The whole conversation. Consecutive messages of one role are one turn.',
  ),
};
const promptOptions = {
  system: described(textOr(ref('MessagesTextBlock')), 'The system prompt.'),
  output_config: described(requestObject({}, { format: ref('MessagesOutputFormat') }), 'The format of the output; `effort` is ignored.'),
  output_format: described(ref('MessagesOutputFormat'), 'Older form of `output_config.format`, which takes precedence.'),
  tools: described({ ...list(ref('MessagesTool')), maxItems: TOOLS_MAX }, 'Tools the model may use; each name once.'),
};
const role = (value: string) => ({ role: word(value) });

/** Schemas of the bodies of `POST /v1/messages` and its `count_tokens`. A test checks that they agree with the parsers. */
export const REQUEST_SCHEMAS: Record<string, JsonSchema> = {
  MessagesRequest: {
    ...requestObject(
      { ...required, max_tokens: max_tokens ?? anything, ...prompt },
      {
        ...otherFields,
        ...promptOptions,
        tool_choice: described(ref('MessagesToolChoice'), 'A choice that forces a call needs `tools`.'),
        stop_sequences: described(stopSequences, 'A matched one is reported as `end_turn`.'),
        thinking: described(
          requestObject({}, { type: text }),
          'Any `type` except `disabled` shows reasoning; `disabled` switches it off where the upstream can. Budgets are not applied; reasoning is billed either way.',
        ),
      },
    ),
    description: 'Other fields are ignored, except `thread`, which is refused because nothing is stored.',
  },
  CountTokensRequest: {
    ...requestObject({ model: required.model ?? anything, ...prompt }, promptOptions),
    description: 'A body of `POST /v1/messages`, of which only the prompt is read.',
  },
  MessagesTurn: byProperty('role', { user: 'MessagesUserTurn', assistant: 'MessagesAssistantTurn', system: 'MessagesSystemTurn' }),
  MessagesUserTurn: requestObject({ ...role('user'), content: textOr(ref('MessagesUserBlock')) }),
  MessagesAssistantTurn: requestObject({ ...role('assistant'), content: textOr(ref('MessagesAssistantBlock')) }),
  MessagesSystemTurn: {
    anyOf: [
      requestObject({ ...role('system'), content: textOr(ref('MessagesSystemBlock')) }, { clear_at: anything }),
      described(requestObject({ ...role('system'), output_config: anyObject }, { content: { type: 'null' } }), 'Without effect.'),
    ],
    description: 'With `clear_at` `next_user_message` its texts end with the next message of the user.',
  },
  MessagesSystemBlock: either(
    ref('MessagesTextBlock'),
    ref('MessagesToolAdditionBlock'),
    ref('MessagesToolRemovalBlock'),
    described(
      requestObject({ type: { ...name, not: { enum: ['text', 'tool_addition', 'tool_removal', ...CONTENT_OF_OTHERS] } } }),
      'A block of an unknown type is dropped.',
    ),
  ),
  MessagesToolAdditionBlock: {
    ...requestObject({
      type: word('tool_addition'),
      tool: either(
        requestObject({ type: word('tool_definition'), definition: ref('MessagesTool') }),
        ref('MessagesToolReference'),
        ref('MessagesOtherToolChange'),
      ),
    }),
    description: 'Offers a tool to the model: a new one, which replaces an earlier one of its name, or one that was declared before.',
  },
  MessagesToolRemovalBlock: {
    ...requestObject({
      type: word('tool_removal'),
      tool: either(ref('MessagesToolReference'), requestObject({ type: { ...name, not: { const: 'tool_reference' } } })),
    }),
    description: 'Withdraws a tool. A reference of any other type is ignored.',
  },
  MessagesToolReference: requestObject({ type: word('tool_reference'), name }),
  MessagesOtherToolChange: {
    ...requestObject({ type: { ...name, not: { enum: ['tool_definition', 'tool_reference'] } } }),
    description: 'A reference of any other type is ignored.',
  },
  MessagesUserBlock: byProperty('type', {
    text: 'MessagesTextBlock',
    image: 'MessagesImageBlock',
    search_result: 'MessagesSearchResultBlock',
    tool_reference: 'MessagesToolReferenceBlock',
    tool_result: 'MessagesToolResultBlock',
  }),
  MessagesResultPart: byProperty('type', {
    text: 'MessagesTextBlock',
    image: 'MessagesImageBlock',
    search_result: 'MessagesSearchResultBlock',
    tool_reference: 'MessagesToolReferenceBlock',
  }),
  MessagesAssistantBlock: either(
    ref('MessagesTextBlock'),
    ref('MessagesToolUseBlock'),
    ref('MessagesThinkingBlock'),
    ref('MessagesDroppedBlock'),
  ),
  MessagesTextBlock: requestObject({ type: word('text'), text }),
  MessagesImageBlock: requestObject({
    type: word('image'),
    source: requestObject({
      type: word('base64'),
      media_type: described(text, '`image/png`, `image/jpeg`, `image/webp` or `image/gif`.'),
      data: described(text, 'Base64, of at most 5 MiB decoded.'),
    }),
  }),
  MessagesSearchResultBlock: requestObject(
    { type: word('search_result') },
    { title: text, source: text, content: list(requestObject({ text })) },
  ),
  MessagesToolReferenceBlock: requestObject({ type: word('tool_reference'), tool_name: name }),
  MessagesToolResultBlock: requestObject(
    { type: word('tool_result'), tool_use_id: name },
    { content: textOr(ref('MessagesResultPart')), is_error: flag },
  ),
  MessagesToolUseBlock: requestObject({ type: word('tool_use'), id: name, name }, { input: anyObject }),
  MessagesThinkingBlock: {
    ...requestObject({ type: word('thinking') }, { thinking: text }),
    description: 'Forwarded only to upstreams that require it.',
  },
  MessagesDroppedBlock: {
    ...requestObject({
      type: { type: 'string', pattern: '^(redacted_thinking|server_tool_use|mcp_tool_use|mcp_tool_listing|fallback|[a-z_]+_tool_result)$' },
    }),
    description: "Hidden thinking, and traces of what a vendor's servers did: accepted and dropped.",
  },
  MessagesTool: either(ref('MessagesClientTool'), ref('MessagesServerTool')),
  MessagesClientTool: requestObject(
    { name, input_schema: described(anyObject, 'JSON Schema of the input.') },
    { type: word('custom'), description: text },
  ),
  MessagesServerTool: {
    ...requestObject({ type: { type: 'string', not: { const: 'custom' } } }),
    description: 'A server tool of any type: accepted and dropped.',
  },
  MessagesOutputFormat: requestObject({ type: word('json_schema'), schema: described(anyObject, 'JSON Schema of the text.') }),
  MessagesToolChoice: either(
    requestObject({ type: word('auto', 'any', 'none') }),
    described(requestObject({ type: word('tool'), name }), 'Forces one of `tools`.'),
  ),
};

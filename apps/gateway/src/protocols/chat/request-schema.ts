import { TOOLS_MAX } from '../body-fields/body-fields.js';
import { stopSequence, stopSequences } from '../body-fields/stop-sequences.js';
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
import { ChatFields } from './request.dto.js';

const { required, optional } = fieldSchemas(ChatFields, {
  model: 'Id of a model from `GET /v1/models`, case-sensitive.',
  stream: 'True: the reply is sent as server-sent events.',
  max_tokens: "Maximum number of tokens to generate, including reasoning. Default: the model's.",
  max_completion_tokens: 'Same as `max_tokens`. If both are sent, they must be equal.',
  temperature: 'Sampling temperature.',
  top_p: 'Nucleus sampling; adjust this or `temperature`.',
  user: 'A stable id of your end user.',
  n: 'Must be 1: a reply has one choice.',
});

const textPart = requestObject({ type: word('text'), text });
const mode = word('none', 'auto', 'required');
const allowed = { mode, tools: list(ref('ChatAllowedTool')) };

/** Values, besides null and false, that clients send for an object that they do not use. */
const unused: JsonSchema = { enum: ['', []] };

/** Schemas of the bodies of `POST /v1/chat/completions`. A test checks that they agree with the parsers. */
export const REQUEST_SCHEMAS: Record<string, JsonSchema> = {
  ChatRequest: {
    ...requestObject(
      { ...required, messages: described({ ...list(ref('ChatMessage')), minItems: 1 }, 'The whole conversation, oldest message first.') },
      {
        ...optional,
        stream_options: described(
          requestObject({}, { include_usage: flag }),
          'Only when `stream` is true. With `include_usage`, a chunk with the usage precedes `[DONE]`.',
        ),
        stop: described(either(stopSequence, stopSequences), 'Up to four sequences that end the reply and are not part of it.'),
        tools: described(
          { ...list(ref('ChatTool')), maxItems: TOOLS_MAX },
          'Functions and custom tools the model may call; each name once.',
        ),
        tool_choice: described(ref('ChatToolChoice'), 'A choice that forces a call needs `tools`. `any` means `required`.'),
        response_format: ref('ChatResponseFormat'),
        seed: described({ type: 'integer' }, 'A hint: forwarded if the upstream supports it. An invalid value is ignored.'),
        presence_penalty: described({ type: 'number', minimum: -2, maximum: 2 }, 'A hint, like `seed`.'),
        frequency_penalty: described({ type: 'number', minimum: -2, maximum: 2 }, 'A hint, like `seed`.'),
        reasoning_effort: described({ type: 'string', pattern: '^[a-z]{1,16}$' }, 'A hint, like `seed`.'),
        parallel_tool_calls: described(flag, 'A hint, like `seed`.'),
        chat_template_kwargs: described(
          either(anyObject, { const: false }, unused),
          'Only arguments about thinking. `enable_thinking` or `thinking` false switches reasoning off where the upstream can, as ' +
            '`enable_thinking: false`, `thinking: {"type":"disabled"}` and `reasoning: {"enabled":false}` do.',
        ),
        guided_json: described(anything, "Other servers' form of `response_format` with a schema: an object or its JSON text."),
        json_schema: described(anything, 'Like `guided_json`.'),
        structured_outputs: described(
          either(anyObject, flag, unused),
          'Its `json` is like `guided_json`. Other constraints are refused. A boolean is ignored.',
        ),
      },
    ),
    description:
      'Other fields are ignored, except those that would change the reply: `functions`, `function_call`, `audio`, an audio ' +
      'modality, `logprobs`, `top_logprobs`, `logit_bias`, and constraints of other servers that are no JSON Schema are refused.',
  },
  ChatMessage: byProperty('role', {
    system: 'ChatInstructionMessage',
    developer: 'ChatInstructionMessage',
    user: 'ChatUserMessage',
    assistant: 'ChatAssistantMessage',
    tool: 'ChatToolMessage',
  }),
  ChatInstructionMessage: requestObject({ role: word('system', 'developer'), content: textOr(textPart) }, { name: text }),
  ChatUserMessage: requestObject({ role: word('user'), content: textOr(ref('ChatUserPart')) }, { name: text }),
  ChatAssistantMessage: requestObject(
    { role: word('assistant') },
    {
      content: textOr(byProperty('type', { text: 'ChatTextPart', refusal: 'ChatRefusalPart' })),
      refusal: described(anything, 'The refusal of an earlier reply. It is sent to the model as text of the assistant.'),
      reasoning_content: described(text, 'Reasoning of an earlier reply. Send it back: some models require it; for others it is dropped.'),
      tool_calls: list(ref('ChatEarlierToolCall')),
    },
  ),
  ChatToolMessage: requestObject({ role: word('tool'), content: textOr(textPart), tool_call_id: name }),
  ChatEarlierToolCall: {
    ...either(
      requestObject({ id: name, function: requestObject({ name }, { arguments: text }) }, { type: word('function') }),
      requestObject({ id: name, type: word('custom'), custom: requestObject({ name, input: text }) }),
    ),
    description: 'A tool call of an earlier reply, unchanged.',
  },
  ChatUserPart: byProperty('type', { text: 'ChatTextPart', image_url: 'ChatImagePart' }),
  ChatTextPart: textPart,
  ChatRefusalPart: requestObject({ type: word('refusal'), refusal: text }),
  ChatImagePart: requestObject({
    type: word('image_url'),
    image_url: either(imageUrl(), requestObject({ url: imageUrl() }, { detail: text })),
  }),
  ChatTool: byProperty('type', { function: 'ChatFunctionTool', custom: 'ChatCustomTool' }),
  ChatFunctionTool: requestObject({
    type: word('function'),
    function: requestObject(
      { name },
      { description: text, parameters: described(anyObject, 'JSON Schema of the arguments.'), strict: flag },
    ),
  }),
  ChatCustomTool: {
    ...requestObject({
      type: word('custom'),
      custom: requestObject({ name }, { description: text, format: described(anything, 'A grammar is a hint, not enforced.') }),
    }),
    description: 'A tool that takes one text.',
  },
  ChatToolChoice: either(
    word('none', 'auto', 'required', 'any'),
    described(requestObject({ type: word('function'), function: requestObject({ name }) }), 'Forces one of `tools`.'),
    described(requestObject({ type: word('custom'), custom: requestObject({ name }) }), 'Forces one of `tools`.'),
    {
      ...requestObject({ type: word('allowed_tools') }),
      anyOf: [requestObject({ allowed_tools: requestObject(allowed) }), requestObject(allowed, { allowed_tools: { type: 'null' } })],
      description: 'The model sees only the listed tools. `mode` and `tools` may also be direct fields of `tool_choice`, as in Responses.',
    },
  ),
  ChatAllowedTool: {
    anyOf: [allowedTool('function'), allowedTool('custom')].flat(),
    description: 'One of `tools` by its name.',
  },
  ChatResponseFormat: byProperty('type', {
    text: 'ChatPlainFormat',
    json_object: 'ChatJsonFormat',
    json_schema: 'ChatJsonSchemaFormat',
  }),
  ChatPlainFormat: requestObject({ type: word('text') }),
  ChatJsonFormat: requestObject({ type: word('json_object') }, { schema: described(anyObject, 'A schema that the object has to fit.') }),
  ChatJsonSchemaFormat: {
    ...requestObject({ type: word('json_schema') }),
    anyOf: [
      requestObject({ json_schema: ref('ChatJsonSchema') }),
      requestObject({ schema: anyObject }, { json_schema: { type: 'null' }, name, strict: flag, description: text }),
    ],
    description: 'The schema and its fields may also stand beside `type`.',
  },
  ChatJsonSchema: requestObject({ schema: anyObject }, { name, strict: flag, description: text }),
};

function allowedTool(type: string): JsonSchema[] {
  return [
    requestObject({ type: word(type), [type]: requestObject({ name }) }),
    requestObject({ type: word(type), name }, { [type]: { type: 'null' } }),
  ];
}

function imageUrl(): JsonSchema {
  return described(text, 'A base64 data URL of a PNG, JPEG, WebP or GIF of at most 5 MiB. Links are refused.');
}

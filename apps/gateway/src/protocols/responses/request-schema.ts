import { TOOLS_MAX } from '../body-fields/body-fields.js';
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
import { ResponsesFields } from './request.dto.js';
import { LOADING_ITEMS } from './tools.js';

const { required, optional } = fieldSchemas(ResponsesFields, {
  model: 'Id of a model from `GET /v1/models`, case-sensitive.',
  instructions: 'A system message before the input.',
  stream: 'True: the reply is sent as server-sent events.',
  parallel_tool_calls: 'Accepted, ignored, echoed.',
  max_output_tokens: "Maximum number of tokens to generate, including reasoning. Default: the model's.",
  temperature: 'Sampling temperature.',
  top_p: 'Nucleus sampling.',
});

const ignored = described(anything, 'Accepted and ignored.');
const notStored: JsonSchema = { type: 'null', description: 'Not supported: nothing is stored. Send the whole conversation in `input`.' };
const mode = word('none', 'auto', 'required');
const CALLS = ['function_call', 'custom_tool_call', 'function_call_output', 'custom_tool_call_output'];
const DECLARED = ['function', 'custom'];

/** Schemas of the bodies of `POST /v1/responses`. A test checks that they agree with the parsers. */
export const REQUEST_SCHEMAS: Record<string, JsonSchema> = {
  ResponsesRequest: {
    ...requestObject(
      {
        ...required,
        input: described(either(text, { ...list(ref('ResponsesItem')), minItems: 1 }), 'A prompt, or the whole conversation as items.'),
      },
      {
        ...optional,
        tools: described(
          list(ref('ResponsesTool')),
          `Each pair of namespace and name once. At most ${TOOLS_MAX} functions and custom tools; those in namespaces count.`,
        ),
        tool_choice: described(
          ref('ResponsesToolChoice'),
          'A call can be required, and a tool forced, only where `tools` has one that is not hosted.',
        ),
        text: requestObject({}, { format: ref('ResponsesTextFormat'), verbosity: ignored }),
        metadata: { type: 'object', maxProperties: 16, additionalProperties: text, description: 'Returned unchanged; not stored.' },
        background: { type: 'boolean', const: false, description: 'Not supported: set `stream` for long replies.' },
        previous_response_id: notStored,
        conversation: notStored,
        prompt: notStored,
        store: described(anything, 'Accepted; a reply always says false.'),
        reasoning: described(anything, 'Accepted and ignored: reasoning comes back as a summary.'),
        include: ignored,
        prompt_cache_key: described(anything, 'Accepted and echoed: repeated prefixes are cached without it.'),
      },
    ),
    description: 'Other fields are ignored.',
  },
  ResponsesItem: {
    anyOf: [
      ref('ResponsesUserMessage'),
      ref('ResponsesOtherMessage'),
      ref('ResponsesFunctionCall'),
      ref('ResponsesCustomCall'),
      ref('ResponsesCallOutput'),
      ref('ResponsesAdditionalTools'),
      ref('ResponsesOtherItem'),
    ],
  },
  ResponsesUserMessage: requestObject({ role: word('user'), content: textOr(ref('ResponsesUserPart')) }, { type: word('message') }),
  ResponsesOtherMessage: requestObject(
    { role: word('system', 'developer', 'assistant'), content: textOr(ref('ResponsesTextPart')) },
    { type: word('message') },
  ),
  ResponsesUserPart: either(ref('ResponsesTextPart'), ref('ResponsesImagePart')),
  ResponsesTextPart: either(
    requestObject({ type: word('input_text', 'output_text', 'text'), text }),
    requestObject({ type: word('refusal'), refusal: text }),
  ),
  ResponsesImagePart: requestObject(
    {
      type: word('input_image'),
      image_url: described(text, 'A base64 data URL of a PNG, JPEG, WebP or GIF of at most 5 MiB. Links are refused.'),
    },
    { detail: text, file_id: { type: 'null', description: 'Not supported.' } },
  ),
  ResponsesFunctionCall: requestObject({ type: word('function_call'), call_id: name, name, arguments: text }, { namespace: text }),
  ResponsesCustomCall: requestObject({ type: word('custom_tool_call'), call_id: name, name, input: text }, { namespace: text }),
  ResponsesCallOutput: requestObject({
    type: word('function_call_output', 'custom_tool_call_output'),
    call_id: name,
    output: textOr(ref('ResponsesUserPart')),
  }),
  ResponsesAdditionalTools: {
    ...requestObject({ type: word(...LOADING_ITEMS) }, { tools: list(ref('ResponsesTool')) }),
    description: 'Declares tools as `tools` does, later ones replacing earlier ones.',
  },
  ResponsesOtherItem: {
    ...requestObject({ type: { ...name, not: { enum: ['message', ...CALLS, ...LOADING_ITEMS, 'item_reference'] } } }),
    description:
      'Reasoning is forwarded only to upstreams that require it; traces of hosted tools, and unknown items without a text, are dropped.',
  },
  ResponsesTool: either(
    ref('ResponsesFunctionTool'),
    ref('ResponsesCustomTool'),
    ref('ResponsesNamespace'),
    hostedTool('A hosted tool: accepted and dropped.', [...DECLARED, 'namespace']),
  ),
  ResponsesFunctionTool: requestObject(
    { type: word('function'), name },
    { description: text, parameters: described(anyObject, 'JSON Schema of the arguments.'), strict: flag },
  ),
  ResponsesCustomTool: requestObject(
    { type: word('custom'), name },
    { description: text, format: described(anything, 'A grammar is a hint, not enforced.') },
  ),
  ResponsesNamespace: {
    ...requestObject(
      { type: word('namespace'), name },
      {
        tools: list(either(ref('ResponsesFunctionTool'), ref('ResponsesCustomTool'), hostedTool('Any other tool is dropped.', DECLARED))),
      },
    ),
    description: 'The model sees its tools by plain name. Their calls are returned with name and namespace.',
  },
  ResponsesToolChoice: either(
    mode,
    described(requestObject({ type: word(...DECLARED), name }, { namespace: text }), 'Forces one of `tools`.'),
    described(
      requestObject({ type: word('allowed_tools'), mode, tools: list(ref('ResponsesAllowedTool')) }),
      'Only the listed `tools` are sent to the model.',
    ),
  ),
  ResponsesAllowedTool: either(
    described(requestObject({ type: word(...DECLARED), name }, { namespace: text }), 'One of `tools` by its name.'),
    hostedTool('A hosted tool: ignored.', DECLARED),
  ),
  ResponsesTextFormat: byProperty('type', {
    text: 'ResponsesPlainFormat',
    json_object: 'ResponsesJsonFormat',
    json_schema: 'ResponsesJsonSchemaFormat',
  }),
  ResponsesPlainFormat: requestObject({ type: word('text') }),
  ResponsesJsonFormat: requestObject(
    { type: word('json_object') },
    { schema: described(anyObject, 'A schema that the object has to fit.') },
  ),
  ResponsesJsonSchemaFormat: requestObject({ type: word('json_schema'), schema: anyObject }, { name, strict: flag, description: text }),
};

/** Returns the schema of an entry of any other type than these. */
function hostedTool(description: string, types: readonly string[]): JsonSchema {
  return { ...requestObject({ type: { ...name, not: { enum: types } } }), description };
}

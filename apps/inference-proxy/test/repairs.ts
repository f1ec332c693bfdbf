import { UPSTREAM_KINDS, type UpstreamCapabilities } from '#contracts/catalog.js';
import { NO_REASONING, outputInstruction } from '#inference/added-texts.js';
import type { InferenceRequest, OutputFormat } from '#inference/request.js';
import type { Tool } from '#inference/tool.js';
import type { AssistantTurn, Turn } from '#inference/turn.js';
import type { ADAPTERS } from '../src/upstreams/adapters.js';

export type Dialect = keyof typeof ADAPTERS;

/** A part of a request that some upstream refuses, and what is sent instead. */
export interface Repair {
  name: string;
  request: Partial<InferenceRequest>;
  capabilities?: Partial<UpstreamCapabilities>;
  /** The part of the body that is repaired. Absent: the dialect needs no repair, for the reason given. */
  sends: Record<Dialect, { of(body: Body): unknown; is: unknown } | { notNeeded: string }>;
}

// biome-ignore lint/suspicious/noExplicitAny: bodies of all dialects
type Body = any;

const LONG_ID = `chatcmpl-tool-${'0f3a9c1e'.repeat(8)}`;
const says = (text: string): Turn => ({ role: 'user', parts: [{ type: 'text', text }] });
const called = (callId: string, argumentsText = '{}', ...parts: AssistantTurn['parts']): Turn[] => [
  says('Hi'),
  {
    role: 'assistant',
    parts: [...parts, { type: 'tool-call', callId, tool: { name: 'run' }, wireName: 'run', kind: 'function', argumentsText }],
  },
  { role: 'tool', results: [{ callId, parts: [{ type: 'text', text: 'ok' }] }] },
];
const tool = (parameters: Tool['parameters']): Tool => ({
  key: { name: 'run' },
  wireName: 'run',
  kind: 'function',
  description: 'Runs',
  parameters,
});
const schemaOutput = (properties: object, more: object = {}): OutputFormat => ({
  kind: 'json-schema',
  name: 'x',
  strict: true,
  schema: { type: 'object', properties, required: Object.keys(properties), additionalProperties: false, ...more },
});

const tools: Record<Dialect, (body: Body) => Body> = {
  'openai-chat': (body) => body.tools.map((one: Body) => [one.function.description, one.function.parameters]),
  'openai-responses': (body) => body.tools.map((one: Body) => [one.description, one.parameters]),
  'anthropic-messages': (body) => body.tools.map((one: Body) => [one.description, one.input_schema]),
  gemini: (body) => body.tools[0].functionDeclarations.map((one: Body) => [one.description, one.parametersJsonSchema]),
  'bedrock-converse': (body) => body.toolConfig.tools.map(({ toolSpec: one }: Body) => [one.description, one.inputSchema.json]),
};
const callIds: Record<Dialect, (body: Body) => Body> = {
  'openai-chat': ({ messages }) => [messages[1].tool_calls[0].id, messages[2].tool_call_id],
  'openai-responses': ({ input }) => [input[1].call_id, input[2].call_id],
  'anthropic-messages': ({ messages }) => [messages[1].content[0].id, messages[2].content[0].tool_use_id],
  gemini: ({ contents }) => [contents[1].parts[0].functionCall.id, contents[2].parts[0].functionResponse.id],
  'bedrock-converse': ({ messages }) => [messages[1].content[0].toolUse.toolUseId, messages[2].content[0].toolResult.toolUseId],
};
const callArguments: Record<Dialect, (body: Body) => Body> = {
  'openai-chat': ({ messages }) => JSON.parse(messages[1].tool_calls[0].function.arguments),
  'openai-responses': ({ input }) => JSON.parse(input[1].arguments),
  'anthropic-messages': ({ messages }) => messages[1].content[0].input,
  gemini: ({ contents }) => contents[1].parts[0].functionCall.args,
  'bedrock-converse': ({ messages }) => messages[1].content[0].toolUse.input,
};
const firstTexts: Record<Dialect, (body: Body) => Body> = {
  'openai-chat': ({ messages, response_format }) => [messages[0].content, response_format],
  'openai-responses': ({ input, text }) => [input[0].content, text.format],
  'anthropic-messages': ({ system, output_config }) => [system, output_config],
  gemini: ({ systemInstruction, generationConfig }) => [systemInstruction.parts[0].text, generationConfig.responseJsonSchema],
  'bedrock-converse': ({ system, outputConfig }) => [system[0].text, outputConfig],
};

function everywhere(of: Record<Dialect, (body: Body) => unknown>, is: unknown): Repair['sends'] {
  const entries = Object.entries(of).map(([dialect, part]) => [dialect, { of: part, is }]);
  return Object.fromEntries(entries) as Repair['sends'];
}

/** Digest of `LONG_ID`, of which each dialect takes as much as it can. */
const DIGEST = 'call_35c25694def7a97445fe99e12845262fd36919c4cc88ca541868767ec54';
const makeIds = (length: number): string[] => Array(2).fill(DIGEST.slice(0, length));

const EMPTY = [['Runs', { type: 'object', properties: {} }]];
const FOLDED = {
  type: 'object',
  properties: { route: { type: 'string' }, file: { type: 'string' } },
};
const LIMITED = schemaOutput({
  score: { type: 'number', minimum: 0, maximum: 1 },
  tags: { type: 'array', items: { type: 'string' }, minItems: 2 },
});
const WORDED = {
  score: { type: 'number', description: 'at least 0, at most 1' },
  tags: { type: 'array', items: { type: 'string' }, description: 'at least 2 items' },
};
const OPEN = schemaOutput({ a: { type: 'string' } }, { additionalProperties: true });
const PERSON = schemaOutput({ given_name: { type: 'string' } });
const REFUSED_BY_ITS_SERVERS = 'OpenAI accepts it';

const REPAIRS: readonly Repair[] = [
  {
    name: 'ids of calls that are too long become a digest',
    request: { turns: called(LONG_ID), tools: [tool({})] },
    sends: {
      'openai-chat': { of: callIds['openai-chat'], is: makeIds(40) },
      'openai-responses': { of: callIds['openai-responses'], is: makeIds(53) },
      'anthropic-messages': { notNeeded: 'has no limit' },
      gemini: { notNeeded: 'has no limit' },
      'bedrock-converse': { of: callIds['bedrock-converse'], is: makeIds(64) },
    },
  },
  {
    name: 'a tool schema without type and properties gets them',
    request: { tools: [tool({})] },
    sends: everywhere(tools, EMPTY),
  },
  {
    name: 'a tool schema of type `["object", "null"]` becomes `object`',
    request: { tools: [tool({ type: ['object', 'null'], properties: {} })] },
    sends: everywhere(tools, EMPTY),
  },
  {
    name: 'branches at the root of a tool schema are folded in, their conditions go into the description',
    request: { tools: [tool({ ...FOLDED, anyOf: [{ required: ['route'] }, { required: ['file'] }] })] },
    sends: everywhere(tools, [['Runs\n\nThe arguments need at least one of these forms: route | file', FOLDED]]),
  },
  {
    name: 'limits of a strict schema go into descriptions',
    request: { output: LIMITED },
    sends: {
      'openai-chat': { notNeeded: REFUSED_BY_ITS_SERVERS },
      'openai-responses': { notNeeded: REFUSED_BY_ITS_SERVERS },
      'anthropic-messages': {
        of: ({ output_config }) => output_config.format.schema.properties,
        is: WORDED,
      },
      gemini: { notNeeded: 'accepts them, and ignores those that it does not know' },
      'bedrock-converse': {
        of: ({ outputConfig }) => JSON.parse(outputConfig.textFormat.structure.jsonSchema.schema).properties,
        is: WORDED,
      },
    },
  },
  {
    name: 'a schema that cannot be enforced is no longer strict',
    request: { output: OPEN },
    sends: {
      'openai-chat': { of: ({ response_format }) => response_format.json_schema.strict, is: undefined },
      'openai-responses': { of: ({ text }) => text.format.strict, is: undefined },
      'anthropic-messages': { of: firstTexts['anthropic-messages'], is: [outputInstruction(OPEN), undefined] },
      gemini: { notNeeded: 'has no strict schemas' },
      'bedrock-converse': { of: firstTexts['bedrock-converse'], is: [outputInstruction(OPEN), undefined] },
    },
  },
  {
    name: 'with `jsonSchema: false` a schema becomes an instruction',
    request: { output: PERSON },
    capabilities: { jsonSchema: false },
    sends: {
      'openai-chat': { of: firstTexts['openai-chat'], is: [outputInstruction(PERSON), { type: 'json_object' }] },
      'openai-responses': { of: firstTexts['openai-responses'], is: [outputInstruction(PERSON), { type: 'json_object' }] },
      'anthropic-messages': { of: firstTexts['anthropic-messages'], is: [outputInstruction(PERSON), undefined] },
      gemini: { of: firstTexts.gemini, is: [outputInstruction(PERSON), undefined] },
      'bedrock-converse': { of: firstTexts['bedrock-converse'], is: [outputInstruction(PERSON), undefined] },
    },
  },
  {
    name: 'a prompt that asks for a JSON object says JSON',
    request: { output: { kind: 'json-object' } },
    sends: {
      'openai-chat': { of: firstTexts['openai-chat'], is: [outputInstruction({ kind: 'json-object' }), { type: 'json_object' }] },
      'openai-responses': { of: firstTexts['openai-responses'], is: [outputInstruction({ kind: 'json-object' }), { type: 'json_object' }] },
      'anthropic-messages': { of: firstTexts['anthropic-messages'], is: [outputInstruction({ kind: 'json-object' }), undefined] },
      gemini: { notNeeded: 'does not require it' },
      'bedrock-converse': { of: firstTexts['bedrock-converse'], is: [outputInstruction({ kind: 'json-object' }), undefined] },
    },
  },
  {
    name: 'with `reasoningEcho` earlier reasoning goes back',
    request: { turns: called('a', '{}', { type: 'reasoning', text: 'Hm.' }), tools: [tool({})] },
    capabilities: { reasoningEcho: true },
    sends: {
      'openai-chat': { of: ({ messages }) => messages[1].reasoning_content, is: 'Hm.' },
      'openai-responses': { notNeeded: 'accepts only reasoning that it stored' },
      'anthropic-messages': { of: ({ messages }) => messages[1].content[0], is: { type: 'thinking', thinking: 'Hm.' } },
      gemini: { notNeeded: 'takes signatures alone, which always go back' },
      'bedrock-converse': { of: ({ messages }) => messages[1].content[0], is: { reasoningContent: { reasoningText: { text: 'Hm.' } } } },
    },
  },
  {
    name: `with \`reasoningEcho\` \`${NO_REASONING}\` stands for reasoning that the client did not keep`,
    request: { turns: called('a'), tools: [tool({})] },
    capabilities: { reasoningEcho: true },
    sends: {
      'openai-chat': { of: ({ messages }) => messages[1].reasoning_content, is: NO_REASONING },
      'openai-responses': { notNeeded: 'accepts only reasoning that it stored' },
      'anthropic-messages': { of: ({ messages }) => messages[1].content[0], is: { type: 'thinking', thinking: NO_REASONING } },
      gemini: { notNeeded: 'a word of its own stands for the signature' },
      'bedrock-converse': {
        of: ({ messages }) => messages[1].content[0],
        is: { reasoningContent: { reasoningText: { text: NO_REASONING } } },
      },
    },
  },
  {
    name: 'half a character in a text, a schema or a stop sequence becomes U+FFFD',
    request: { turns: [says('cut \ud83d')], tools: [tool({ type: 'object', properties: { 'a\ud83d': {} } })] },
    sends: everywhere(tools, [['Runs', { type: 'object', properties: { 'a\ufffd': {} } }]]),
  },
  {
    name: 'half a character in the arguments of a call becomes U+FFFD',
    request: { turns: called('a', '{"a":"cut \\ud83d, \\ud83c\\udf0d"}'), tools: [tool({})] },
    sends: everywhere(callArguments, { a: 'cut \ufffd, \ud83c\udf0d' }),
  },
];

const DIALECTS = UPSTREAM_KINDS satisfies readonly Dialect[];

/** Every repair with every dialect that needs it. */
export function everyRepair(): { name: string; dialect: Dialect; repair: Repair }[] {
  return REPAIRS.flatMap((repair) =>
    DIALECTS.filter((dialect) => 'of' in repair.sends[dialect]).map((dialect) => ({ name: repair.name, dialect, repair })),
  );
}

/** Renders the table of docs/dialects.md. */
export function renderRepairs(): string {
  const rows = REPAIRS.map(({ name, sends }) => [
    name,
    ...DIALECTS.map((dialect) => {
      const cell = sends[dialect];
      return 'of' in cell ? '✓' : cell.notNeeded;
    }),
  ]);
  const header = ['repair', ...DIALECTS.map((dialect) => `\`${dialect}\``)];
  return [header, header.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

import type { UpstreamCapabilities } from '#contracts/catalog.js';
import { DIALECTS as FACTS } from '#contracts/dialects.js';
import type { InferenceRequest } from '#inference/request.js';
import type { StreamEvent } from '#inference/stream-event.js';
import type { Tool, ToolChoice } from '#inference/tool.js';
import type { Turn } from '#inference/turn.js';
import { makeCall, sent } from '../../test/conformance.js';
import { ADAPTERS } from './adapters.js';

type Dialect = keyof typeof ADAPTERS;
type Able = Partial<UpstreamCapabilities>;

const DIALECTS = Object.keys(ADAPTERS) as Dialect[];
const RUN: Tool = { key: { name: 'run' }, wireName: 'run', kind: 'function', parameters: { type: 'object', properties: {} } };
const says = (role: 'system' | 'user', text: string): Turn => ({ role, parts: [{ type: 'text', text }] });

/** Returns the fields of a body that a request has with some capabilities. */
function renderFields(dialect: Dialect, names: readonly string[], request: Partial<InferenceRequest>, able: Able): Record<string, unknown> {
  const sentBody = sent(ADAPTERS[dialect].renderRequest(makeCall(false, request, able), undefined));
  const body = FLATTEN[dialect]?.(sentBody) ?? sentBody;
  return Object.fromEntries(names.flatMap((name) => (name in body ? [[name, body[name]]] : [])));
}

/** Return the fields of a nested body under the names that OpenAI has for them. */
// biome-ignore lint/suspicious/noExplicitAny: a body
const FLATTEN: Partial<Record<Dialect, (body: any) => Record<string, unknown>>> = {
  gemini: ({ tools, toolConfig, generationConfig: config }) =>
    definedFields({
      temperature: config.temperature,
      top_p: config.topP,
      max_output_tokens: config.maxOutputTokens,
      thinking: config.thinkingConfig,
      tools: tools?.[0].functionDeclarations,
      tool_choice: toolConfig?.functionCallingConfig.mode,
    }),
  'bedrock-converse': ({ toolConfig, inferenceConfig: config }) =>
    definedFields({
      temperature: config.temperature,
      top_p: config.topP,
      max_tokens: config.maxTokens,
      tools: toolConfig?.tools,
      tool_choice: toolConfig?.toolChoice,
    }),
};

function definedFields(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

describe.each(DIALECTS)('%s', (dialect) => {
  const both = { temperature: 0.2, topP: 0.9 };
  const one = FACTS[dialect].cachesMarked ? { temperature: 0.2 } : { temperature: 0.2, top_p: 0.9 };
  test.each<[string, Able, object]>([
    ['both', {}, one],
    ['no temperature', { temperature: false }, { top_p: 0.9 }],
    ['no topP', { topP: false }, { temperature: 0.2 }],
    ['neither', { temperature: false, topP: false }, {}],
  ])('sampling: %s', (_what, able, expected) => {
    expect(renderFields(dialect, ['temperature', 'top_p'], both, able)).toEqual(expected);
  });

  const none = {
    'openai-chat': { tools: 1, tool_choice: 'none' },
    'openai-responses': { tools: 1, tool_choice: 'none' },
    'anthropic-messages': { tools: 1, tool_choice: { type: 'none' } },
    gemini: { tools: 1, tool_choice: 'NONE' },
    'bedrock-converse': { tools: 0, tool_choice: undefined }, // has no such choice
  }[dialect];
  test.each<[NonNullable<Able['toolChoice']>, unknown]>([
    ['forced', none],
    ['none', none],
    ['auto', { tools: 0, tool_choice: undefined }],
  ])('the choice none where %s is the strongest', (toolChoice, expected) => {
    const { tools, tool_choice } = renderFields(
      dialect,
      ['tools', 'tool_choice'],
      { tools: [RUN], toolChoice: { kind: 'none' } },
      { toolChoice },
    );
    expect({ tools: ((tools as unknown[]) ?? []).length, tool_choice }).toEqual(expected);
  });

  test.each<[string, ToolChoice | undefined]>([
    ['auto', { kind: 'auto' }],
    ['no', undefined],
  ])('%s choice keeps the tools where auto is the strongest', (_what, toolChoice) => {
    const { tools } = renderFields(dialect, ['tools'], { tools: [RUN], toolChoice }, { toolChoice: 'auto' });
    expect(tools).toHaveLength(1);
  });

  const caps: Record<Dialect, [object, object]> = {
    'openai-chat': [{ max_tokens: 256 }, {}],
    'openai-responses': [{ max_output_tokens: 256 }, {}],
    'anthropic-messages': [{ max_tokens: 256 }, { max_tokens: 256 }], // the dialect requires one
    gemini: [{ max_output_tokens: 256 }, {}],
    'bedrock-converse': [{ max_tokens: 256 }, {}],
  };
  test.each([true, false])('with outputCap %s', (outputCap) => {
    const names = ['max_tokens', 'max_completion_tokens', 'max_output_tokens'];
    expect(renderFields(dialect, names, {}, { outputCap })).toEqual(caps[dialect][outputCap ? 0 : 1]);
  });

  test.each<[boolean | null, number]>([
    [null, FACTS[dialect].countsCacheApart ? 50 : 30],
    [true, 50],
    [false, 30],
  ])('cachedApart %s: of 30 prompt and 20 cached tokens the prompt has %i', (cachedApart, promptTokens) => {
    const events: StreamEvent[] = [];
    ADAPTERS[dialect].parseReply(JSON.stringify(CACHED[dialect]), makeCall(false, {}, { cachedApart }), events);
    expect(events.find(({ type }) => type === 'usage-report')).toMatchObject({
      usage: { promptTokens, cachedTokens: 20, outputTokens: 5 },
    });
  });
});

const OFF: Record<Dialect, Partial<Record<NonNullable<Able['reasoningSwitch']>, object>>> = {
  'openai-chat': {
    reasoning_effort: { reasoning_effort: 'none' },
    chat_template_kwargs: { chat_template_kwargs: { enable_thinking: false, thinking: false } },
    thinking: { thinking: { type: 'disabled' } },
  },
  'openai-responses': { reasoning_effort: { reasoning: { effort: 'none' } } },
  'anthropic-messages': {},
  gemini: { reasoning_effort: { thinking: { thinkingLevel: 'MINIMAL' } }, thinking: { thinking: { thinkingBudget: 0 } } },
  'bedrock-converse': {},
};

describe.each(DIALECTS)('%s', (dialect) => {
  test.each(['none', 'reasoning_effort', 'chat_template_kwargs', 'thinking'] as const)(
    'reasoning is switched off by %s alone, and only if the client does [client-reasoning-off]',
    (reasoningSwitch) => {
      const names = ['reasoning_effort', 'reasoning', 'chat_template_kwargs', 'thinking'];
      const fields = (hints: InferenceRequest['hints']) => renderFields(dialect, names, { hints }, { reasoningSwitch });
      expect(fields({ reasoningOff: true })).toEqual(OFF[dialect][reasoningSwitch] ?? {});
      expect(fields({})).toEqual({});
    },
  );
});

test('an effort of none goes as it came where no switch is named', () => {
  const hints = { reasoningEffort: 'none', reasoningOff: true } as const;
  expect(renderFields('openai-chat', ['reasoning_effort'], { hints }, { reasoningEffort: true })).toEqual({ reasoning_effort: 'none' });
});

const CACHED: Record<Dialect, object> = {
  'openai-chat': {
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 30, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 20 } },
  },
  'openai-responses': {
    status: 'completed',
    output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hi' }] }],
    usage: { input_tokens: 30, output_tokens: 5, input_tokens_details: { cached_tokens: 20 } },
  },
  'anthropic-messages': {
    content: [{ type: 'text', text: 'Hi' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 30, output_tokens: 5, cache_read_input_tokens: 20 },
  },
  gemini: {
    candidates: [{ content: { parts: [{ text: 'Hi' }] }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 30, candidatesTokenCount: 5, cachedContentTokenCount: 20 },
  },
  'bedrock-converse': {
    output: { message: { content: [{ text: 'Hi' }] } },
    stopReason: 'end_turn',
    usage: { inputTokens: 30, outputTokens: 5, cacheReadInputTokens: 20 },
  },
};

test.each<[string, Turn[], string, unknown[]]>([
  ['the leading system texts', [says('system', 'A'), says('system', 'B'), says('user', 'Hi')], 'A\nB', [{ role: 'user', content: 'Hi' }]],
  ['a sentence without any', [says('user', 'Hi')], 'Answer the user.', [{ role: 'user', content: 'Hi' }]],
  ['a sentence for a blank one', [says('system', ' '), says('user', 'Hi')], 'Answer the user.', [{ role: 'user', content: 'Hi' }]],
  [
    'no later system text',
    [says('system', 'A'), says('user', 'Hi'), says('system', 'B')],
    'A',
    [
      { role: 'user', content: 'Hi' },
      { role: 'system', content: 'B' },
    ],
  ],
])('instructions are %s', (_what, turns, instructions, input) => {
  expect(renderFields('openai-responses', ['instructions', 'input'], { turns }, { instructions: true })).toEqual({ instructions, input });
});

test('instructions have the schema that the upstream does not take', () => {
  const output = { kind: 'json-object' as const };
  const able = { instructions: true };
  expect(renderFields('openai-responses', ['instructions'], { turns: [says('user', 'Hi')], output }, able)).toEqual({
    instructions: 'Answer with one JSON object and nothing else.',
  });
});

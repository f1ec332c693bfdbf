import fc from 'fast-check';
import type { InferenceRequest, OutputFormat } from '#inference/request.js';
import type { Tool, ToolChoice } from '#inference/tool.js';
import type { ImagePart, TextPart, ToolCallPart, Turn } from '#inference/turn.js';

/** Arbitrary canonical requests: conversations in which results follow their calls, with ids and arguments as clients send them. */
export function inferenceRequests(): fc.Arbitrary<InferenceRequest> {
  return fc
    .tuple(
      fc.uniqueArray(tool, { maxLength: 4, selector: ({ wireName }) => wireName }),
      fc.uniqueArray(callId, { minLength: 8, maxLength: 8 }),
    )
    .chain(([tools, ids]) =>
      fc.record(
        {
          model: fc.constant('test-model'),
          turns: conversation(tools, ids),
          tools: fc.constant(tools),
          toolChoice: choice(tools),
          maxOutputTokens: fc.integer({ min: 1, max: 100_000 }),
          temperature: fc.double({ min: 0, max: 2, noNaN: true }),
          topP: fc.double({ min: 0, max: 1, noNaN: true }),
          stop: fc.array(fc.string({ minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 4 }),
          output,
          stream: fc.boolean(),
          hints: fc.record(
            {
              seed: fc.integer(),
              parallelToolCalls: fc.boolean(),
              reasoningEffort: fc.constantFrom('low', 'high'),
              reasoningOff: fc.constant(true as const),
            },
            { requiredKeys: [] },
          ),
        },
        { requiredKeys: ['model', 'turns', 'tools', 'output', 'stream', 'hints'] },
      ),
    );
}

const words = fc.oneof(fc.string({ maxLength: 30 }), fc.constantFrom('', ' ', '\n', 'Grüße 🌍', '\ud83d', '\u2028', '"}', 'x'.repeat(300)));
const text: fc.Arbitrary<TextPart> = words.map((value) => ({ type: 'text', text: value }));
const image: fc.Arbitrary<ImagePart> = fc.constant({ type: 'image', mediaType: 'image/png', base64: 'iVBORw0KGgo=' });
const parts = fc.array(fc.oneof({ weight: 4, arbitrary: text }, { weight: 1, arbitrary: image }), { minLength: 1, maxLength: 3 });
const name = fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/);
/** Some ids differ only in characters that not every dialect accepts. */
const callId = fc.oneof(
  fc.stringMatching(/^call_[A-Za-z0-9]{4,24}$/),
  fc.constantFrom(
    'a.b',
    'a_b',
    'a:b',
    'a b',
    'é',
    'ü',
    'functions.get:0',
    'functions.get_0',
    'x'.repeat(70),
    `${'x'.repeat(69)}y`,
    '0',
    '1',
  ),
  fc.string({ minLength: 1, maxLength: 80 }),
);
const schema = fc.dictionary(fc.string({ maxLength: 8 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 }) as fc.Arbitrary<
  Record<string, unknown>
>;

const tool: fc.Arbitrary<Tool> = fc.oneof(
  fc.record(
    {
      key: name.map((value) => ({ name: value })),
      wireName: name,
      kind: fc.constant('function' as const),
      description: words,
      parameters: schema,
      strict: fc.boolean(),
    },
    { requiredKeys: ['key', 'wireName', 'kind'] },
  ),
  fc.record(
    {
      key: name.map((value) => ({ name: value, namespace: 'n' })),
      wireName: name,
      kind: fc.constant('custom' as const),
      grammar: fc.record({ syntax: fc.constantFrom('lark', 'regex', 'other'), definition: words }),
    },
    { requiredKeys: ['key', 'wireName', 'kind'] },
  ),
);

const output: fc.Arbitrary<OutputFormat> = fc.oneof(
  fc.constant({ kind: 'text' as const }),
  fc.constant({ kind: 'json-object' as const }),
  fc.record({ kind: fc.constant('json-schema' as const), name, schema, strict: fc.boolean() }),
);

function choice(tools: Tool[]): fc.Arbitrary<ToolChoice> {
  const kinds = fc.constantFrom<ToolChoice>({ kind: 'auto' }, { kind: 'none' }, { kind: 'required' });
  return tools.length === 0
    ? kinds
    : fc.oneof(kinds, fc.constantFrom(...tools.map(({ wireName }): ToolChoice => ({ kind: 'tool', wireName }))));
}

const argumentsText = fc.oneof(
  fc.json({ maxDepth: 2 }),
  fc.constantFrom('{}', '{"half":', '', ' ', '{"big":123456789012345678901234567890}', '[1]', '"x"'),
);

/** A conversation makes no more calls when `ids` are used up. */
function conversation(tools: Tool[], ids: string[]): fc.Arbitrary<Turn[]> {
  const call = fc.tuple(
    fc.constantFrom('function', 'custom'),
    tools.length === 0 ? name : fc.oneof(fc.constantFrom(...tools.map(({ wireName }) => wireName)), name),
    argumentsText,
  );
  const step = fc.record({
    kind: fc.constantFrom('system', 'user', 'assistant', 'calls', 'calls'),
    texts: fc.array(text, { maxLength: 2 }),
    parts,
    calls: fc.array(call, { minLength: 1, maxLength: 3 }),
    results: fc.array(fc.tuple(parts, fc.boolean()), { minLength: 3, maxLength: 3 }),
  });
  return fc.array(step, { minLength: 1, maxLength: 7 }).map((steps) => {
    const left = [...ids];
    return steps.flatMap(({ kind, texts, parts, calls, results }): Turn[] => {
      if (kind === 'user') return [{ role: 'user', parts }];
      if (kind === 'system') return [{ role: 'system', parts: texts.length > 0 ? texts : [{ type: 'text', text: 'Be brief.' }] }];
      if (kind === 'assistant' || left.length < calls.length)
        return [{ role: 'assistant', parts: [...texts, { type: 'reasoning', text: 'Hm.' }] }];
      const made = calls.map(([type, wireName, value]): ToolCallPart => {
        const id = left.shift() as string;
        return {
          type: 'tool-call',
          callId: id,
          tool: { name: wireName },
          wireName,
          argumentsText: value,
          kind: type as ToolCallPart['kind'],
        };
      });
      const answers = made.map(({ callId }, index) => ({
        callId,
        parts: results[index]?.[0] ?? [],
        ...(results[index]?.[1] && { isError: true }),
      }));
      return [
        { role: 'assistant', parts: [...texts, ...made] },
        { role: 'tool', results: answers },
      ];
    });
  });
}

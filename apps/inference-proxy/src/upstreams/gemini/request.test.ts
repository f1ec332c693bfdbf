import type { UpstreamCapabilities } from '#contracts/catalog.js';
import type { InferenceRequest } from '#inference/request.js';
import { signCallId } from '#inference/signed-call-id.js';
import type { ImagePart, Turn } from '#inference/turn.js';
import { makeCall, sent } from '../../../test/conformance.js';
import { calls, says, text } from '../../../test/turns.js';
import { renderRequest, takesStop } from './request.js';

const PIXEL: ImagePart = { type: 'image', mediaType: 'image/png', base64: 'iVBORw0KGgo=' };

function renderBody(request: Partial<InferenceRequest>, able: Partial<UpstreamCapabilities> = {}): Record<string, unknown> {
  return sent(renderRequest(makeCall(false, request, able), undefined));
}

test('model, operation and key are in path, query and header', () => {
  const place = (stream: boolean, model: string) => {
    const { path, action, query, headers } = renderRequest({ ...makeCall(stream), model }, 'k');
    return [path + action, query, headers];
  };
  const key = { 'x-goog-api-key': 'k' };
  expect(place(false, 'gemini-2.5-flash')).toEqual(['models/gemini-2.5-flash:generateContent', undefined, key]);
  expect(place(true, 'gemini-2.5-flash')).toEqual(['models/gemini-2.5-flash:streamGenerateContent', 'alt=sse', key]);
  expect(place(false, 'tunedModels/mine')[0]).toBe('tunedModels/mine:generateContent');
  expect(renderRequest(makeCall(false), 'ya29.t').headers).toEqual({ authorization: 'Bearer ya29.t' });
  expect(place(false, '../a b')[0]).toBe('models/..%2Fa%20b:generateContent');
});

test('a conversation: system texts in front, the user first, calls and results as contents of their own [T-10]', () => {
  const turns: Turn[] = [
    says('system', 'Be brief.', ' '),
    says('system', 'Be kind.'),
    says('assistant', 'Ready.'),
    { role: 'user', parts: [text('Look'), PIXEL, text(' ')] },
    { role: 'assistant', parts: [{ type: 'reasoning', text: 'Hm' }, text('So'), ...calls('c1', 'c2').parts] },
    says('system', 'Now.'),
    {
      role: 'tool',
      results: [
        { callId: 'c1', parts: [text('one'), text('two')] },
        { callId: 'c2', parts: [text('no'), PIXEL], isError: true },
      ],
    },
  ];
  const call = (id: string) => ({ functionCall: { id, name: 'run', args: { a: 1 } } });
  expect(renderBody({ turns })).toMatchObject({
    systemInstruction: { parts: [{ text: 'Be brief.\nBe kind.' }] },
    contents: [
      { role: 'user', parts: [{ text: '(no message)' }] },
      { role: 'model', parts: [{ text: 'Ready.' }] },
      { role: 'user', parts: [{ text: 'Look' }, { inlineData: { mimeType: 'image/png', data: PIXEL.base64 } }] },
      { role: 'model', parts: [{ text: 'So' }, call('c1'), call('c2')] },
      {
        role: 'user',
        parts: [
          { functionResponse: { id: 'c1', name: 'run', response: { output: 'one\ntwo' } } },
          { functionResponse: { id: 'c2', name: 'run', response: { error: 'no' } } },
        ],
      },
      { role: 'user', parts: [{ text: 'Image from tool call c2:' }, { inlineData: { mimeType: 'image/png', data: PIXEL.base64 } }] },
      { role: 'user', parts: [{ text: 'Now.' }] },
    ],
  });
});

test.each<[string, string[], boolean, unknown[]]>([
  [
    'goes back with its call',
    [signCallId('c1', '+/8='), 'c2'],
    false,
    [
      ['c1', '+/8='],
      ['c2', undefined],
    ],
  ],
  ['is left out where there is none', ['c1'], false, [['c1', undefined]]],
  [
    'is stood in for on the first call, where it is required',
    ['c1', 'c2'],
    true,
    [
      ['c1', 'skip_thought_signature_validator'],
      ['c2', undefined],
    ],
  ],
  ['stays where it is required', [signCallId('c1', 'c2ln')], true, [['c1', 'c2ln']]],
])('a signature %s', (_what, callIds, reasoningEcho, expected) => {
  const results = callIds.map((callId) => ({ callId, parts: [text('ok')] }));
  const body = renderBody({ turns: [says('user', 'Hi'), calls(...callIds), { role: 'tool', results }] }, { reasoningEcho });
  const contents = body.contents as {
    parts: { functionCall?: { id: string }; functionResponse?: { id: string }; thoughtSignature?: string }[];
  }[];
  expect(contents[1]?.parts.map(({ functionCall, thoughtSignature }) => [functionCall?.id, thoughtSignature])).toEqual(expected);
  expect(contents[2]?.parts.map(({ functionResponse }) => functionResponse?.id)).toEqual(
    contents[1]?.parts.map((part) => part.functionCall?.id),
  );
});

test('options, with a stop sequence beyond the fifth left to the proxy', () => {
  const stop = ['a', 'b', 'c', 'd', 'e', 'f'];
  const hints = { seed: 7, presencePenalty: 0.5, frequencyPenalty: 0, reasoningEffort: 'xhigh' };
  const able = { reasoningEffort: true, reasoningSummary: true };
  expect(renderBody({ stop, hints, temperature: 2, topP: 0.5 }, able).generationConfig).toEqual({
    maxOutputTokens: 256,
    temperature: 2,
    topP: 0.5,
    stopSequences: stop.slice(0, 5),
    seed: 7,
    presencePenalty: 0.5,
    thinkingConfig: { thinkingLevel: 'HIGH', includeThoughts: true },
  });
  expect(stop.filter((sequence, at) => !takesStop(sequence, at))).toEqual(['f']);
  expect(renderBody({ stop, hints }, { stop: false, seed: false, penalties: false }).generationConfig).toEqual({ maxOutputTokens: 256 });
});

const SCHEMA = { type: 'object', properties: { a: { type: 'string' } } };
const TOOL = { key: { name: 'run' }, wireName: 'run', kind: 'function' as const, description: 'Runs', parameters: SCHEMA, strict: true };

test.each<[string, InferenceRequest['toolChoice'], unknown]>([
  ['auto', { kind: 'auto' }, undefined],
  ['none', { kind: 'none' }, { mode: 'NONE' }],
  ['required', { kind: 'required' }, { mode: 'ANY' }],
  ['a tool', { kind: 'tool', wireName: 'run' }, { mode: 'ANY', allowedFunctionNames: ['run'] }],
])('tools, and the choice %s', (_what, toolChoice, functionCallingConfig) => {
  const { tools, toolConfig } = renderBody({ tools: [TOOL], toolChoice });
  expect({ tools, toolConfig }).toEqual({
    tools: [{ functionDeclarations: [{ name: 'run', description: 'Runs', parametersJsonSchema: SCHEMA }] }],
    toolConfig: functionCallingConfig && { functionCallingConfig },
  });
});

test.each<[string, InferenceRequest['output'], boolean, boolean, object, boolean]>([
  [
    'a schema',
    { kind: 'json-schema', name: 'x', schema: SCHEMA },
    true,
    true,
    { responseMimeType: 'application/json', responseJsonSchema: SCHEMA },
    false,
  ],
  ['an object', { kind: 'json-object' }, true, true, { responseMimeType: 'application/json' }, false],
  [
    'a schema that is not taken',
    { kind: 'json-schema', name: 'x', schema: SCHEMA },
    false,
    false,
    { responseMimeType: 'application/json' },
    true,
  ],
  ['an object, not taken beside tools', { kind: 'json-object' }, false, true, {}, true],
])('output: %s', (_what, output, jsonSchema, hasTools, expected, isInstructed) => {
  const { generationConfig, systemInstruction } = renderBody({ output, tools: hasTools ? [TOOL] : [] }, { jsonSchema });
  expect([generationConfig, systemInstruction !== undefined]).toEqual([{ maxOutputTokens: 256, ...expected }, isInstructed]);
});

test('a long prompt begins with the line of the account, unless the catalog keeps no caches apart', () => {
  const system = (able: Partial<UpstreamCapabilities>, promptTokensEstimate = 1_024) =>
    sent(
      renderRequest({ ...makeCall(false, { turns: [says('system', 'Be brief.'), says('user', 'Hi')] }, able), promptTokensEstimate }, 'k'),
    ).systemInstruction;
  expect(system({})).toEqual({ parts: [{ text: expect.stringMatching(/^Cache: [\w-]{22}\nBe brief\.$/) }] });
  for (const plain of [system({ cacheKey: 'none' }), system({}, 1_023)]) expect(plain).toEqual({ parts: [{ text: 'Be brief.' }] });
});

import type { UpstreamCapabilities } from '#contracts/catalog.js';
import type { InferenceRequest } from '#inference/request.js';
import type { Tool } from '#inference/tool.js';
import { makeCall, sent } from '../../../test/conformance.js';
import { renderRequest, takesStop } from './request.js';

function renderBody(request: Partial<InferenceRequest>, capabilities: Partial<UpstreamCapabilities> = {}): Record<string, unknown> {
  const call = makeCall(false, request);
  return sent(renderRequest({ ...call, capabilities: { ...call.capabilities, ...capabilities } }, undefined));
}

const t = (text: string) => ({ type: 'text' as const, text });
const call = { type: 'tool-call' as const, tool: { name: 'x' }, wireName: 'x', kind: 'function' as const };
const CLOSED = { type: 'object', properties: {}, additionalProperties: false };
const TOOL: Tool = { key: { name: 'x' }, wireName: 'x', kind: 'function', description: 'X', parameters: CLOSED, strict: true };
const PATCH: Tool = { key: { name: 'patch' }, wireName: 'patch', kind: 'custom' };

/** Digest of `a.1`, an id that the dialect refuses. */
const DIGEST = 'call_4a5f06ec672e3c2321239ec81dd50afa8a8059e0a55fb936';

test('nothing that was not asked for, but a cap [U-19]', () => {
  const rendered = renderRequest(makeCall(true), 'secret');
  expect({ ...rendered, body: sent(rendered) }).toEqual({
    path: 'messages',
    headers: { 'anthropic-version': '2023-06-01', 'x-api-key': 'secret' },
    body: { model: 'upstream-model', max_tokens: 256, messages: [{ role: 'user', content: [t('Hi')] }], stream: true },
  });
});

test('roles in turn, results first, later system texts with the user [U-20, T-10, T-11, T-12, T-13]', () => {
  const image = { type: 'image' as const, mediaType: 'image/png' as const, base64: 'AAAA' };
  const { system, messages } = renderBody({
    turns: [
      { role: 'system', parts: [t('A'), t('B')] },
      { role: 'assistant', parts: [{ type: 'reasoning', text: 'Hm' }, t('Hello')] },
      {
        role: 'assistant',
        parts: [
          { ...call, callId: 'a.1', argumentsText: '{"y":1}' },
          { ...call, callId: 'b', argumentsText: '' },
          { ...call, callId: 'c', argumentsText: '{"broken' },
          { ...call, callId: 'd', argumentsText: 'date', kind: 'custom' },
        ],
      },
      { role: 'system', parts: [t('Be brief')] },
      {
        role: 'tool',
        results: [
          { callId: 'a.1', parts: [t('21'), image] },
          { callId: 'b', parts: [], isError: true },
        ],
      },
      { role: 'user', parts: [t(' '), t('And?')] },
      { role: 'assistant', parts: [t('Well ')] },
    ],
  });
  const use = (id: string, input: unknown) => ({ type: 'tool_use', id, name: 'x', input });
  expect([system, messages]).toEqual([
    'A\nB',
    [
      { role: 'user', content: [t('(no message)')] },
      {
        role: 'assistant',
        content: [t('Hello'), use(DIGEST, { y: 1 }), use('b', {}), use('c', { input: '{"broken' }), use('d', { input: 'date' })],
      },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: DIGEST,
            content: [t('21'), { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }],
          },
          { type: 'tool_result', tool_use_id: 'b', is_error: true },
          t('Be brief'),
          t('And?'),
        ],
      },
      { role: 'assistant', content: [t('Well')] },
    ],
  ]);
});

test('numbers in the arguments of earlier calls keep their digits [T-46]', () => {
  const argumentsText = '{"id":12345678901234567890,"n":1}';
  const turns = [{ role: 'assistant' as const, parts: [{ ...call, callId: 'a', argumentsText }] }];
  expect(JSON.stringify(renderRequest(makeCall(false, { turns }), undefined).body)).toContain(`"input":${argumentsText}`);
});

test('sampling and stop sequences within what the dialect takes [U-22]', () => {
  const { temperature, top_p, stop_sequences } = renderBody({ temperature: 1.5, topP: 0.5, stop: ['\n', 'END'] });
  expect([temperature, top_p, stop_sequences, takesStop('\n'), renderBody({ topP: 0.5 }).top_p]).toEqual([
    1,
    undefined,
    ['END'],
    false,
    0.5,
  ]);
});

test.each([
  [undefined, undefined, undefined],
  [undefined, false, { type: 'auto', disable_parallel_tool_use: true }],
  [{ kind: 'none' as const }, false, { type: 'none' }],
  [{ kind: 'required' as const }, true, { type: 'any' }],
  [{ kind: 'tool' as const, wireName: 'x' }, false, { type: 'tool', name: 'x', disable_parallel_tool_use: true }],
])('tool_choice %j, parallel %s', (toolChoice, parallelToolCalls, expected) => {
  const { tools, tool_choice } = renderBody({ tools: [TOOL, PATCH], toolChoice, hints: { parallelToolCalls } });
  expect([tools, tool_choice]).toEqual([
    [
      { name: 'x', description: 'X', input_schema: CLOSED, strict: true },
      { name: 'patch', input_schema: { type: 'object', properties: { input: { type: 'string' } }, required: ['input'] } },
    ],
    expected,
  ]);
});

test('strict and disable_parallel_tool_use are sent, but where the server refuses them [U-19]', () => {
  const request = { tools: [{ ...TOOL, strict: true }], hints: { parallelToolCalls: false } };
  expect(renderBody(request)).toMatchObject({ tools: [{ strict: true }], tool_choice: { type: 'auto', disable_parallel_tool_use: true } });
  const { tools, tool_choice } = renderBody(request, { parallelToolCalls: false, strictTools: false });
  expect([JSON.stringify(tools).includes('strict'), tool_choice]).toEqual([false, undefined]);
});

test('output formats: a strict schema as such, the others by instruction', () => {
  const output = { kind: 'json-schema' as const, name: 'a', schema: CLOSED };
  const of = (request: Partial<InferenceRequest>) => {
    const { system, output_config } = renderBody(request);
    return [system, output_config];
  };
  expect([of({ output: { kind: 'json-object' } }), of({ output }), of({ output: { ...output, strict: true } })]).toEqual([
    ['Answer with one JSON object and nothing else.', undefined],
    [
      'Answer with JSON and nothing else. It must match this JSON Schema:\n{"type":"object","properties":{},"additionalProperties":false}',
      undefined,
    ],
    [undefined, { format: { type: 'json_schema', schema: CLOSED } }],
  ]);
});

test('ids of calls that differ only in characters the dialect does not take stay apart [T-10]', () => {
  const parts = ['a.b', 'a_b', 'a:b'].map((callId) => ({ ...call, callId, argumentsText: '{}' }));
  const { messages } = renderBody({ turns: [{ role: 'assistant', parts }] });
  const ids = (messages as { content: { id: string }[] }[]).flatMap(({ content }) => content.flatMap(({ id }) => id ?? []));
  expect([ids[1], new Set(ids).size, ids.every((id) => /^[A-Za-z0-9_-]+$/.test(id))]).toEqual(['a_b', 3, true]);
});

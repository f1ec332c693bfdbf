import type { UpstreamCapabilities } from '#contracts/catalog.js';
import type { InferenceRequest } from '#inference/request.js';
import type { Tool } from '#inference/tool.js';
import type { Turn } from '#inference/turn.js';
import { makeCall, sent } from '../../../test/conformance.js';
import { renderRequest } from './request.js';

function renderBody(
  request: Partial<InferenceRequest>,
  capabilities: Partial<UpstreamCapabilities> = {},
  stream = false,
): Record<string, unknown> {
  return sent(renderRequest(makeCall(stream, request, capabilities), undefined));
}

function renderMessages(turns: Turn[], capabilities: Partial<UpstreamCapabilities> = {}): unknown {
  return renderBody({ turns }, capabilities).messages;
}

const t = (text: string) => ({ type: 'text' as const, text });
const PIXEL = { type: 'image' as const, mediaType: 'image/png' as const, base64: 'iVBORw0KGgo=' };
const WEATHER: Tool = { key: { name: 'get_weather' }, wireName: 'get_weather', kind: 'function', description: 'Weather', strict: true };
const PATCH: Tool = {
  key: { name: 'patch' },
  wireName: 'patch',
  kind: 'custom',
  description: 'Edits files',
  grammar: { syntax: 'lark', definition: 'start: "x"' },
};

test('the smallest body: nothing that was not asked for [U-3, U-19, U-22]', () => {
  const rendered = renderRequest(makeCall(true), 'secret');
  expect({ ...rendered, body: sent(rendered) }).toEqual({
    path: 'chat/completions',
    headers: { authorization: 'Bearer secret' },
    body: {
      model: 'upstream-model',
      messages: [{ role: 'user', content: 'Hi' }],
      max_tokens: 256,
      stream: true,
      stream_options: { include_usage: true },
    },
  });
  expect(renderRequest(makeCall(false), undefined).headers).toEqual({});
});

test('everything that was asked for [U-22]', () => {
  const body = renderBody({
    temperature: 0,
    topP: 0.5,
    stop: ['END'],
    endUser: 'somebody',
    hints: { seed: 7, presencePenalty: 0.5, frequencyPenalty: 0, reasoningEffort: 'high', parallelToolCalls: false },
  });
  expect(body).toEqual({
    model: 'upstream-model',
    messages: [{ role: 'user', content: 'Hi' }],
    max_tokens: 256,
    temperature: 0,
    top_p: 0.5,
    stop: ['END'],
    seed: 7,
    presence_penalty: 0.5,
    stream: false,
  });
});

test('what an upstream cannot do is not asked of it [U-3, U-19]', () => {
  const capabilities = { streamOptions: false, stop: false, maxTokensField: 'max_completion_tokens' as const, developerRole: true };
  const turns: Turn[] = [{ role: 'system', parts: [t('Be brief')] }];
  expect(renderBody({ turns, stop: ['END'] }, capabilities, true)).toEqual({
    model: 'upstream-model',
    messages: [{ role: 'developer', content: 'Be brief' }],
    max_completion_tokens: 256,
    stream: true,
  });
});

test('seed, penalties and effort only where they are known [U-22]', () => {
  const hints = { seed: 7, presencePenalty: 0.5, frequencyPenalty: 0.5, reasoningEffort: 'high' };
  const { seed, presence_penalty, frequency_penalty, reasoning_effort } = renderBody({ hints }, { reasoningEffort: true });
  expect([seed, presence_penalty, frequency_penalty, reasoning_effort]).toEqual([7, 0.5, 0.5, 'high']);
  expect(Object.keys(renderBody({ hints }, { seed: false, penalties: false }))).toEqual(['model', 'messages', 'max_tokens', 'stream']);
});

test('system messages and roles as the template takes them [U-20]', () => {
  const turns: Turn[] = [
    { role: 'system', parts: [t('A')] },
    { role: 'system', parts: [t('B')] },
    { role: 'user', parts: [t('C')] },
    { role: 'system', parts: [t('D')] },
    { role: 'user', parts: [t('E')] },
  ];
  expect(renderMessages(turns, { systemMessages: 'first' })).toEqual([
    { role: 'system', content: 'A\nB' },
    { role: 'user', content: 'C\nD\nE' },
  ]);
  expect(renderMessages(turns, { systemMessages: 'none', alternatingRoles: true })).toEqual([{ role: 'user', content: 'A\nB\nC\nD\nE' }]);
});

test("ids of nine letters and digits, the same in a call and its result; the upstream's own stay [U-20]", () => {
  const call = { type: 'tool-call' as const, tool: { name: 'x' }, wireName: 'x', kind: 'function' as const, argumentsText: '{}' };
  const turns: Turn[] = ['D681PevKs', 'call_abcdefghijkl', 'functions.x:0'].flatMap((callId): Turn[] => [
    { role: 'assistant', parts: [{ ...call, callId }] },
    { role: 'tool', results: [{ callId, parts: [t('ok')] }] },
  ]);
  const messages = renderMessages(turns, { nineCharacterCallIds: true }) as { tool_calls?: { id: string }[]; tool_call_id?: string }[];
  const ids = messages.map((message) => message.tool_calls?.[0]?.id ?? message.tool_call_id);
  expect(ids).toEqual(['D681PevKs', 'D681PevKs', ids[2], ids[2], ids[4], ids[4]]);
  expect([new Set(ids).size, ids.every((id) => /^[A-Za-z0-9]{9}$/.test(id ?? ''))]).toEqual([3, true]);
  expect(renderMessages(turns, { nineCharacterCallIds: true })).toEqual(messages);
});

describe('turns', () => {
  test('texts become one string, and speakers stay unnamed [U-20, T-9]', () => {
    expect(
      renderMessages([
        { role: 'system', parts: [t('A'), t('B')], name: 'sys' },
        { role: 'user', parts: [t('C'), t('D')], name: 'ann' },
        { role: 'assistant', parts: [t('E')] },
        { role: 'system', parts: [t('F')] },
        { role: 'user', parts: [] },
      ]),
    ).toEqual([
      { role: 'system', content: 'A\nB' },
      { role: 'user', content: 'C\nD' },
      { role: 'assistant', content: 'E' },
      { role: 'system', content: 'F' },
      { role: 'user', content: '' },
    ]);
  });

  test('images are data URLs among the parts', () => {
    expect(renderMessages([{ role: 'user', parts: [t('See'), { ...PIXEL, detail: 'high' }, PIXEL] }])).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'See' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'high' } },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
        ],
      },
    ]);
  });

  test('a turn of calls is kept, with null for its text; arguments go as they came, or {} [responses-reasoning-items, C-5, R-1i, U-12, T-14]', () => {
    const call = { type: 'tool-call' as const, tool: { name: 'x' }, wireName: 'ns__x', kind: 'function' as const };
    const turn: Turn = {
      role: 'assistant',
      parts: [
        { type: 'reasoning', text: 'Hm' },
        { ...call, callId: 'a', argumentsText: '' },
        { ...call, callId: 'b', argumentsText: "{'odd'" },
        { ...call, callId: 'c', argumentsText: '*** Begin\n', kind: 'custom' },
      ],
    };
    const calls = [
      { id: 'a', type: 'function', function: { name: 'ns__x', arguments: '{}' } },
      { id: 'b', type: 'function', function: { name: 'ns__x', arguments: "{'odd'" } },
      { id: 'c', type: 'function', function: { name: 'ns__x', arguments: '{"input":"*** Begin\\n"}' } },
    ];
    expect(renderMessages([turn])).toEqual([{ role: 'assistant', content: null, tool_calls: calls }]);
    // Some servers require their reasoning back.
    expect(renderMessages([turn], { reasoningEcho: true })).toEqual([
      { role: 'assistant', content: null, reasoning_content: 'Hm', tool_calls: calls },
    ]);
    expect(renderMessages([{ role: 'assistant', parts: [t('Text'), { ...call, callId: 'a', argumentsText: '{}' }] }])).toEqual([
      { role: 'assistant', content: 'Text', tool_calls: [calls[0]] },
    ]);
  });

  test('results in their order, nothing between them, images after the last, failures as text [M-6, T-10, T-11, T-12, T-13]', () => {
    expect(
      renderMessages([
        {
          role: 'tool',
          results: [
            { callId: 'a', parts: [t('21 °C')] },
            { callId: 'b', parts: [PIXEL] },
            { callId: 'c', parts: [t('No such city')], isError: true },
            { callId: 'd', parts: [] },
          ],
        },
        { role: 'user', parts: [t('And now?')] },
      ]),
    ).toEqual([
      { role: 'tool', tool_call_id: 'a', content: '21 °C' },
      { role: 'tool', tool_call_id: 'b', content: 'The result is the image below.' },
      { role: 'tool', tool_call_id: 'c', content: '[tool error] No such city' },
      { role: 'tool', tool_call_id: 'd', content: '' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Image from tool call b:' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
        ],
      },
      { role: 'user', content: 'And now?' },
    ]);
  });
});

describe('tools', () => {
  const ofTools = (request: Partial<InferenceRequest>, capabilities: Partial<UpstreamCapabilities> = {}) => {
    const { tools, tool_choice, parallel_tool_calls } = renderBody(request, capabilities);
    return { tools, tool_choice, parallel_tool_calls };
  };

  test('none means no word of them [T-4]', () => {
    const body = renderBody(
      { tools: [], toolChoice: { kind: 'required' }, hints: { parallelToolCalls: true } },
      { parallelToolCalls: true },
    );
    expect(Object.keys(body)).toEqual(['model', 'messages', 'max_tokens', 'stream']);
  });

  test('functions and custom tools, as any server takes them [responses-custom-tools, R-1i]', () => {
    const parameters = { type: 'object', $schema: 'x', properties: { zebra: {}, apple: {} } };
    expect(ofTools({ tools: [WEATHER, { ...WEATHER, parameters, description: undefined }, PATCH] })).toEqual({
      tools: [
        {
          type: 'function',
          function: { name: 'get_weather', description: 'Weather', parameters: { type: 'object', properties: {} }, strict: true },
        },
        { type: 'function', function: { name: 'get_weather', parameters, strict: true } },
        {
          type: 'function',
          function: {
            name: 'patch',
            description: 'Edits files\n\nThe input follows this lark grammar:\nstart: "x"',
            parameters: { type: 'object', properties: { input: { type: 'string' } }, required: ['input'] },
          },
        },
      ],
    });
  });

  test('the keys of a schema keep their order [T-47]', () => {
    const parameters = { properties: { b: { d: 1, c: 2 }, a: {} }, $defs: {}, type: 'object' };
    const rendered = renderRequest(makeCall(false, { tools: [{ ...WEATHER, parameters }] }), undefined);
    expect(JSON.stringify(rendered.body)).toContain('"parameters":{"properties":{"b":{"d":1,"c":2},"a":{}},"$defs":{},"type":"object"}');
  });

  test.each([
    [{ kind: 'auto' as const }, undefined],
    [{ kind: 'none' as const }, 'none'],
    [{ kind: 'required' as const }, 'required'],
    [
      { kind: 'tool' as const, wireName: 'get_weather' },
      { type: 'function', function: { name: 'get_weather' } },
    ],
  ])('tool_choice %j', (toolChoice, expected) => {
    expect(ofTools({ tools: [WEATHER], toolChoice }).tool_choice).toEqual(expected);
  });

  test('strict and parallel_tool_calls are sent, but where the server refuses them [U-19]', () => {
    const request = { tools: [WEATHER], hints: { parallelToolCalls: false } };
    expect(ofTools(request)).toMatchObject({ parallel_tool_calls: false, tools: [{ function: { strict: true } }] });
    const { parallel_tool_calls, tools } = ofTools(request, { parallelToolCalls: false, strictTools: false });
    expect([parallel_tool_calls, JSON.stringify(tools).includes('strict')]).toEqual([undefined, false]);
  });
});

test('output formats; strict where the dialect takes it, and a schema becomes json_object where schemas are not known', () => {
  const schema = { type: 'object', additionalProperties: false };
  const output = { kind: 'json-schema' as const, name: 'answer', schema, strict: true };
  expect([
    renderBody({ output: { kind: 'json-object' } }).response_format,
    renderBody({ output }).response_format,
    renderBody({ output: { ...output, schema: { type: 'object' } } }).response_format,
    renderBody({ output }, { jsonSchema: false }).response_format,
  ]).toEqual([
    { type: 'json_object' },
    { type: 'json_schema', json_schema: { name: 'answer', schema, strict: true } },
    { type: 'json_schema', json_schema: { name: 'answer', schema: { type: 'object' } } },
    { type: 'json_object' },
  ]);
});

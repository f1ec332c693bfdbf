import type { UpstreamCapabilities } from '#contracts/catalog.js';
import type { InferenceRequest } from '#inference/request.js';
import type { Tool } from '#inference/tool.js';
import type { Turn } from '#inference/turn.js';
import { makeCall, sent } from '../../../test/conformance.js';
import { renderRequest } from './request.js';

function renderBody(request: Partial<InferenceRequest>, capabilities: Partial<UpstreamCapabilities> = {}): Record<string, unknown> {
  return sent(renderRequest(makeCall(false, request, { cacheKey: 'none', ...capabilities }), undefined));
}

function renderInput(turns: Turn[], capabilities: Partial<UpstreamCapabilities> = {}): unknown {
  return renderBody({ turns }, capabilities).input;
}

const t = (text: string) => ({ type: 'text' as const, text });
const PIXEL = { type: 'image' as const, mediaType: 'image/png' as const, base64: 'iVBORw0KGgo=' };
const DATA_URL = 'data:image/png;base64,iVBORw0KGgo=';
const WEATHER: Tool = { key: { name: 'get_weather' }, wireName: 'get_weather', kind: 'function', description: 'Weather', strict: true };
const PATCH: Tool = {
  key: { name: 'patch' },
  wireName: 'patch',
  kind: 'custom',
  description: 'Edits files',
  grammar: { syntax: 'lark', definition: 'start: "x"' },
};

test('the smallest body: nothing is stored, and nothing that was not asked for [U-19]', () => {
  const rendered = renderRequest(makeCall(true, {}, { cacheKey: 'none' }), 'secret');
  expect({ ...rendered, body: sent(rendered) }).toEqual({
    path: 'responses',
    headers: { authorization: 'Bearer secret' },
    body: { model: 'upstream-model', input: [{ role: 'user', content: 'Hi' }], max_output_tokens: 256, store: false, stream: true },
  });
  expect(renderRequest(makeCall(false), undefined).headers).toEqual({});
});

test('what the dialect has no word for is not said [U-22, T-44]', () => {
  const body = renderBody({
    temperature: 0,
    topP: 0.5,
    stop: ['END'],
    endUser: 'somebody',
    hints: { seed: 7, presencePenalty: 0.5, frequencyPenalty: 0.5, reasoningEffort: 'high', parallelToolCalls: false },
  });
  expect(body).toEqual({
    model: 'upstream-model',
    input: [{ role: 'user', content: 'Hi' }],
    max_output_tokens: 256,
    temperature: 0,
    top_p: 0.5,
    store: false,
    stream: false,
  });
});

test('reasoning is asked for where it is told', () => {
  const capabilities = { reasoningSummary: true };
  expect([
    renderBody({ hints: { reasoningEffort: 'high' } }, capabilities).reasoning,
    renderBody({}, capabilities).reasoning,
    renderBody({}).reasoning,
  ]).toEqual([{ effort: 'high', summary: 'auto' }, { summary: 'auto' }, undefined]);
});

describe('turns', () => {
  test('texts are messages where they stand, and speakers stay unnamed', () => {
    const turns: Turn[] = [
      { role: 'system', parts: [t('A'), t('B')], name: 'sys' },
      { role: 'user', parts: [t('C'), t('D')], name: 'ann' },
      { role: 'assistant', parts: [{ type: 'reasoning', text: 'Hm' }, t('E')] },
      { role: 'system', parts: [t('F')] },
      { role: 'user', parts: [] },
    ];
    const messages = [
      { role: 'system', content: 'A\nB' },
      { role: 'user', content: 'C\nD' },
      { role: 'assistant', content: 'E' },
      { role: 'system', content: 'F' },
      { role: 'user', content: '' },
    ];
    expect(renderInput(turns)).toEqual(messages);
    expect(renderInput(turns, { developerRole: true })).toEqual(
      messages.map((message) => (message.role === 'system' ? { ...message, role: 'developer' } : message)),
    );
  });

  test('images are data URLs among the parts', () => {
    expect(renderInput([{ role: 'user', parts: [t('See'), { ...PIXEL, detail: 'high' }, PIXEL] }])).toEqual([
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'See' },
          { type: 'input_image', image_url: DATA_URL, detail: 'high' },
          { type: 'input_image', image_url: DATA_URL, detail: 'auto' },
        ],
      },
    ]);
  });

  const call = { type: 'tool-call' as const, tool: { name: 'x' }, wireName: 'ns__x', kind: 'function' as const };

  test('calls are items of their own, arguments as they came, or {}; custom calls keep their text [C-5, R-1i, T-14]', () => {
    const calls = [
      { ...call, callId: 'a', argumentsText: '' },
      { ...call, callId: 'b', argumentsText: "{'odd'" },
      { ...call, callId: 'c', argumentsText: '*** Begin\n', kind: 'custom' as const },
    ];
    const items = [
      { type: 'function_call', call_id: 'a', name: 'ns__x', arguments: '{}' },
      { type: 'function_call', call_id: 'b', name: 'ns__x', arguments: "{'odd'" },
      { type: 'custom_tool_call', call_id: 'c', name: 'ns__x', input: '*** Begin\n' },
    ];
    expect(renderInput([{ role: 'assistant', parts: [{ type: 'reasoning', text: 'Hm' }, ...calls] }])).toEqual(items);
    expect(renderInput([{ role: 'assistant', parts: [calls[0] ?? t(''), t('Text')] }])).toEqual([
      { role: 'assistant', content: 'Text' },
      items[0],
    ]);
  });

  test('results in their order, each of its call’s kind, images inside, failures as text [T-10, T-11, T-12, T-13]', () => {
    expect(
      renderInput([
        { role: 'assistant', parts: [{ ...call, callId: 'c', argumentsText: 'x', kind: 'custom' }] },
        {
          role: 'tool',
          results: [
            { callId: 'a', parts: [t('21 °C')] },
            { callId: 'b', parts: [t('See'), PIXEL] },
            { callId: 'c', parts: [t('No such city')], isError: true },
            { callId: 'd', parts: [PIXEL], isError: true },
            { callId: 'e', parts: [] },
          ],
        },
      ]),
    ).toEqual([
      { type: 'custom_tool_call', call_id: 'c', name: 'ns__x', input: 'x' },
      { type: 'function_call_output', call_id: 'a', output: '21 °C' },
      {
        type: 'function_call_output',
        call_id: 'b',
        output: [
          { type: 'input_text', text: 'See' },
          { type: 'input_image', image_url: DATA_URL, detail: 'auto' },
        ],
      },
      { type: 'custom_tool_call_output', call_id: 'c', output: '[tool error] No such city' },
      {
        type: 'function_call_output',
        call_id: 'd',
        output: [
          { type: 'input_text', text: '[tool error]' },
          { type: 'input_image', image_url: DATA_URL, detail: 'auto' },
        ],
      },
      { type: 'function_call_output', call_id: 'e', output: '' },
    ]);
  });

  test('an id too long for the dialect is shortened in call and result alike [U-20]', () => {
    const callId = 'x'.repeat(65);
    const items = renderInput([
      { role: 'assistant', parts: [{ ...call, callId, argumentsText: '{}' }] },
      { role: 'tool', results: [{ callId, parts: [t('1')] }] },
    ]) as { call_id: string }[];
    expect(items.map((item) => item.call_id)).toEqual([expect.stringMatching(/^call_[0-9a-f]{48}$/), items[0]?.call_id]);
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
    expect(Object.keys(body)).toEqual(['model', 'input', 'max_output_tokens', 'store', 'stream']);
  });

  test('functions say whether they are strict; custom tools are what they are [R-1i]', () => {
    const parameters = { type: 'object', $schema: 'x', properties: { zebra: {}, apple: {} } };
    const tools: Tool[] = [
      { ...WEATHER, parameters },
      { ...WEATHER, description: undefined, strict: undefined },
      PATCH,
      { ...PATCH, description: undefined, grammar: undefined },
      { ...PATCH, grammar: { syntax: 'ebnf', definition: 'x ::= y' } },
    ];
    const empty = { type: 'object', properties: {} };
    expect(ofTools({ tools }).tools).toEqual([
      { type: 'function', name: 'get_weather', description: 'Weather', parameters, strict: true },
      { type: 'function', name: 'get_weather', parameters: empty, strict: false },
      {
        type: 'custom',
        name: 'patch',
        description: 'Edits files',
        format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' },
      },
      { type: 'custom', name: 'patch' },
      { type: 'custom', name: 'patch', description: 'Edits files\n\nThe input follows this ebnf grammar:\nx ::= y' },
    ]);
    expect(ofTools({ tools: [WEATHER] }, { strictTools: false }).tools).toMatchObject([{ strict: false }]);
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
      { type: 'function', name: 'get_weather' },
    ],
    [
      { kind: 'tool' as const, wireName: 'patch' },
      { type: 'custom', name: 'patch' },
    ],
  ])('tool_choice %j', (toolChoice, expected) => {
    expect(ofTools({ tools: [WEATHER, PATCH], toolChoice }).tool_choice).toEqual(expected);
  });

  test('parallel_tool_calls is sent, but where the server refuses it [U-19]', () => {
    const request = { tools: [WEATHER], hints: { parallelToolCalls: false } };
    expect([ofTools(request).parallel_tool_calls, ofTools(request, { parallelToolCalls: false }).parallel_tool_calls]).toEqual([
      false,
      undefined,
    ]);
  });
});

test('output formats; strict where the dialect takes it, and a schema becomes json_object where schemas are not known', () => {
  const schema = { type: 'object', additionalProperties: false };
  const output = { kind: 'json-schema' as const, name: 'answer', schema, strict: true };
  expect([
    renderBody({ output: { kind: 'json-object' } }).text,
    renderBody({ output }).text,
    renderBody({ output: { ...output, schema: { type: 'object' } } }).text,
    renderBody({ output }, { jsonSchema: false }).text,
  ]).toEqual([
    { format: { type: 'json_object' } },
    { format: { type: 'json_schema', name: 'answer', schema, strict: true } },
    { format: { type: 'json_schema', name: 'answer', schema: { type: 'object' } } },
    { format: { type: 'json_object' } },
  ]);
});

test('input is never empty: instructions alone get a message of the user', () => {
  const { instructions, input } = renderBody({ turns: [{ role: 'system', parts: [t('Be brief')] }] }, { instructions: true });
  expect({ instructions, input }).toEqual({ instructions: 'Be brief', input: [{ role: 'user', content: '(no message)' }] });
});

test('an output cap that the dialect takes none as low as', () => {
  const renderCap = (outputTokensMax: number) => sent(renderRequest({ ...makeCall(false), outputTokensMax }, undefined)).max_output_tokens;
  expect([1, 15, 16, 17].map(renderCap)).toEqual([16, 16, 16, 17]);
});

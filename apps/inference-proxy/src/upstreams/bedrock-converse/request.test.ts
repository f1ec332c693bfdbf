import type { UpstreamCapabilities } from '#contracts/catalog.js';
import type { InferenceRequest } from '#inference/request.js';
import type { Tool } from '#inference/tool.js';
import type { ImagePart, Turn } from '#inference/turn.js';
import { makeCall, sent } from '../../../test/conformance.js';
import { calls, says, text } from '../../../test/turns.js';
import { renderRequest, takesStop } from './request.js';

const PIXEL: ImagePart = { type: 'image', mediaType: 'image/jpeg', base64: '/9j/' };
const CLOSED = { type: 'object', properties: { a: { type: 'number' } }, required: ['a'], additionalProperties: false };
const RUN: Tool = { key: { name: 'run' }, wireName: 'run', kind: 'function', description: 'Runs', parameters: CLOSED };
const RESULTS: Turn = {
  role: 'tool',
  results: [
    { callId: 'c1', parts: [text('one'), PIXEL] },
    { callId: 'c2', parts: [text(' ')], isError: true },
  ],
};

function renderBody(request: Partial<InferenceRequest>, able: Partial<UpstreamCapabilities> = {}): Record<string, unknown> {
  return sent(renderRequest(makeCall(false, request, able), undefined));
}

test('model and operation are in the path, escaped; the key is a bearer token', () => {
  const place = (stream: boolean, model: string, key?: string) => {
    const { path, action, headers } = renderRequest({ ...makeCall(stream), model }, key);
    return [`${path}${action}`, headers];
  };
  expect([
    place(false, 'us.anthropic.claude-sonnet-4-5-20250929-v1:0', 'k'),
    place(true, 'arn:aws:bedrock:us-west-2:123456789012:inference-profile/us.amazon.nova-pro-v1:0'),
    place(false, '../a b'),
  ]).toEqual([
    ['model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse', { authorization: 'Bearer k' }],
    [
      'model/arn%3Aaws%3Abedrock%3Aus-west-2%3A123456789012%3Ainference-profile%2Fus.amazon.nova-pro-v1%3A0/converse-stream',
      { accept: 'application/vnd.amazon.eventstream' },
    ],
    ['model/..%2Fa%20b/converse', {}],
  ]);
});

test('a conversation: roles alternate, the user first, results in front of other content [T-10]', () => {
  const turns: Turn[] = [
    says('system', 'Be brief.', ' '),
    says('system', 'Be kind.'),
    says('assistant', 'Ready.'),
    { role: 'user', parts: [text('Look'), PIXEL, text(' ')] },
    { role: 'assistant', parts: [{ type: 'reasoning', text: 'Hm' }, text('So'), ...calls('c1', 'c2').parts] },
    says('system', 'Now.'),
    RESULTS,
    says('assistant', 'Well '),
  ];
  const call = (toolUseId: string) => ({ toolUse: { toolUseId, name: 'run', input: { a: 1 } } });
  const image = { image: { format: 'jpeg', source: { bytes: '/9j/' } } };
  expect(renderBody({ turns, tools: [RUN] })).toEqual({
    system: [{ text: 'Be brief.\nBe kind.' }],
    messages: [
      { role: 'user', content: [{ text: '(no message)' }] },
      { role: 'assistant', content: [{ text: 'Ready.' }] },
      { role: 'user', content: [{ text: 'Look' }, image] },
      { role: 'assistant', content: [{ text: 'So' }, call('c1'), call('c2')] },
      {
        role: 'user',
        content: [
          { toolResult: { toolUseId: 'c1', content: [{ text: 'one' }, image] } },
          { toolResult: { toolUseId: 'c2', content: [{ json: {} }], status: 'error' } },
          { text: 'Now.' },
        ],
      },
      { role: 'assistant', content: [{ text: 'Well' }] },
    ],
    inferenceConfig: { maxTokens: 256 },
    toolConfig: { tools: [{ toolSpec: { name: 'run', description: 'Runs', inputSchema: { json: CLOSED } } }] },
  });
});

test.each<[string, Partial<InferenceRequest>]>([
  ['without tools', { tools: [] }],
  ['that may not call', { tools: [RUN], toolChoice: { kind: 'none' } }],
])('a request %s has earlier calls and results as text, because the dialect takes their blocks only beside tools', (_what, request) => {
  const { messages, toolConfig } = renderBody({ ...request, turns: [says('user', 'Hi'), calls('c1', 'c2'), RESULTS] });
  expect({ messages, toolConfig }).toEqual({
    messages: [
      { role: 'user', content: [{ text: 'Hi' }] },
      { role: 'assistant', content: [{ text: 'run({"a":1})' }, { text: 'run({"a":1})' }] },
      { role: 'user', content: [{ text: 'one' }, { image: { format: 'jpeg', source: { bytes: '/9j/' } } }] },
    ],
    toolConfig: undefined,
  });
});

test.each([
  [{ kind: 'auto' } as const, undefined],
  [{ kind: 'required' } as const, { any: {} }],
  [{ kind: 'tool', key: { name: 'run' }, wireName: 'run' } as const, { tool: { name: 'run' } }],
])('the choice %j', (toolChoice, expected) => {
  const { toolConfig } = renderBody({ tools: [RUN], toolChoice });
  expect((toolConfig as { toolChoice?: object }).toolChoice).toEqual(expected);
});

test.each<[string, Tool, Partial<UpstreamCapabilities>, boolean | undefined]>([
  ['a strict tool', { ...RUN, strict: true }, {}, true],
  ['one whose limits would be lost', { ...RUN, strict: true, parameters: { ...CLOSED, minProperties: 1 } }, {}, undefined],
  ['one at a model without strict tools', { ...RUN, strict: true }, { strictTools: false }, undefined],
  ['another tool', { ...RUN, strict: false }, {}, undefined],
])('%s', (_what, tool, able, strict) => {
  const { toolConfig } = renderBody({ tools: [tool] }, able);
  expect((toolConfig as { tools: { toolSpec: { strict?: boolean } }[] }).tools[0]?.toolSpec.strict).toBe(strict);
});

test('sampling, and an enforced schema as text', () => {
  const request: Partial<InferenceRequest> = {
    temperature: 1.5,
    topP: 0.5,
    stop: ['END', '\n'],
    output: { kind: 'json-schema', name: 'x', strict: true, schema: CLOSED },
  };
  expect(renderBody(request)).toMatchObject({
    inferenceConfig: { maxTokens: 256, temperature: 1, stopSequences: ['END'] },
    outputConfig: { textFormat: { type: 'json_schema', structure: { jsonSchema: { schema: JSON.stringify(CLOSED) } } } },
  });
  expect(['END', '\n'].map(takesStop)).toEqual([true, false]);
});

describe('a long prompt', () => {
  const render = (turns: Turn[], able: Partial<UpstreamCapabilities>) =>
    sent(renderRequest({ ...makeCall(true, { turns, tools: [RUN] }, able), promptTokensEstimate: 1_024 }, 'key'));
  const HISTORY = [says('system', 'Be brief.'), says('user', 'One'), says('assistant', 'Uno'), says('user', 'Two')];
  const point = { cachePoint: { type: 'default' } };

  test('has cache points behind the system prompt, which the tools precede, and the last two user messages [cache-markers]', () => {
    const { system, messages, toolConfig } = render(HISTORY, { cacheKey: 'none' });
    expect({ system, messages, tools: JSON.stringify(toolConfig).includes('cachePoint') }).toEqual({
      system: [{ text: 'Be brief.' }, point],
      messages: [
        { role: 'user', content: [{ text: 'One' }, point] },
        { role: 'assistant', content: [{ text: 'Uno' }] },
        { role: 'user', content: [{ text: 'Two' }, point] },
      ],
      tools: false,
    });
  });

  test('is kept for an hour where the catalog says so, and has no points where it says off', () => {
    const hour = { cachePoint: { type: 'default', ttl: '1h' } };
    expect(render(HISTORY, { cacheKey: 'none', promptCache: '1h' }).system).toEqual([{ text: 'Be brief.' }, hour]);
    expect(JSON.stringify(render(HISTORY, { promptCache: 'off' }))).not.toContain('cachePoint');
  });

  test('begins with the line of the account, in the first tool and in the system prompt', () => {
    const line = expect.stringMatching(/^Cache: [\w-]{22}\n/);
    expect(render(HISTORY, {})).toMatchObject({
      system: [{ text: line }, point],
      toolConfig: { tools: [{ toolSpec: { description: line } }] },
    });
  });
});

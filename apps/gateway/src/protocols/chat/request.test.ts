import { parseRequest } from './request.js';

const SCHEMA = { type: 'object', properties: { a: { type: 'string' } } };
const ENFORCED = { kind: 'json-schema', name: 'output', schema: SCHEMA, strict: true };
const minimal = { model: 'sim-fast', messages: [{ role: 'user', content: 'Hello' }] };

test('a schema is forwarded unchanged, with its keys in order [chat-tools, T-47]', () => {
  const parameters = JSON.parse('{"z":1,"type":"object","a":{"y":2,"b":3},"__proto__":{"x":1},"properties":{}}');
  const { request } = parseRequest({ ...minimal, tools: [{ type: 'function', function: { name: 'f', parameters } }] });
  expect(request.tools[0]?.parameters).toBe(parameters);
  expect(JSON.stringify(request.tools[0]?.parameters)).toBe(JSON.stringify(parameters));
});

test('a tool with an unsafe name has one safe name in declaration, choice and history', () => {
  const name = 'weather/get now';
  const { request } = parseRequest({
    ...minimal,
    tools: [{ type: 'function', function: { name } }],
    tool_choice: { type: 'function', function: { name } },
    messages: [
      ...minimal.messages,
      { role: 'assistant', tool_calls: [{ id: 'c', type: 'function', function: { name, arguments: '{}' } }] },
    ],
  });
  const wireName = expect.stringMatching(/^weather_get_now_[0-9a-f]{10}$/);
  expect(request.tools).toEqual([{ key: { name }, wireName, kind: 'function', parameters: { type: 'object', properties: {} } }]);
  expect(request.toolChoice).toEqual({ kind: 'tool', wireName: request.tools[0]?.wireName });
  expect(request.turns[1]).toEqual({
    role: 'assistant',
    parts: [
      { type: 'tool-call', callId: 'c', tool: { name }, wireName: request.tools[0]?.wireName, argumentsText: '{}', kind: 'function' },
    ],
  });
});

test('`strict: false` equals no `strict`, so that the prompt has one size in all formats', () => {
  const tools = (strict?: boolean) => [{ type: 'function', function: { name: 'f', strict } }];
  const measureSize = (strict?: boolean) => JSON.stringify(parseRequest({ ...minimal, tools: tools(strict) }).request).length;
  expect([measureSize(false), measureSize(true)]).toEqual([measureSize(), measureSize() + ',"strict":true'.length]);
});

test.each(['none', 'auto', 'required'])('tool_choice %s is accepted as a string [chat-tool-choice]', (tool_choice) => {
  const tools = [{ type: 'function', function: { name: 'f' } }];
  expect(parseRequest({ ...minimal, tools, tool_choice }).request.toolChoice).toEqual({ kind: tool_choice });
});

test.each([
  ['a choice without tools is dropped', { tools: [], tool_choice: 'auto' }, [], undefined],
  [
    'only the allowed tools go upstream',
    {
      tools: ['a', 'b', 'c'].map((name) => ({ type: 'function', function: { name } })),
      tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'b' } }] } },
    },
    ['b'],
    { kind: 'auto' },
  ],
])('%s [C-9]', (_rule, use, names, toolChoice) => {
  const { request } = parseRequest({ ...minimal, ...use });
  expect([request.tools.map(({ wireName }) => wireName), request.toolChoice]).toEqual([names, toolChoice]);
});

test('consecutive tool messages are one turn [T-12]', () => {
  const result = (id: string) => ({ role: 'tool', tool_call_id: id, content: id });
  const call = (id: string) => ({ id, type: 'function', function: { name: 'f' } });
  const calls = { role: 'assistant', tool_calls: ['a', 'b', 'c'].map(call) };
  const { request } = parseRequest({ ...minimal, messages: [calls, result('a'), result('b'), ...minimal.messages, result('c')] });
  const turn = (...ids: string[]) => ({ role: 'tool', results: ids.map((id) => ({ callId: id, parts: [{ type: 'text', text: id }] })) });
  expect(request.turns.slice(1)).toEqual([turn('a', 'b'), { role: 'user', parts: [{ type: 'text', text: 'Hello' }] }, turn('c')]);
});

test('errors contain nothing of the prompt', () => {
  const secret = 'my secret';
  const bodies = [
    { ...minimal, messages: [{ role: secret, content: secret }] },
    { ...minimal, messages: [{ role: 'user', content: [{ type: secret, text: secret }] }] },
    { ...minimal, messages: [{ role: 'user', content: [{ type: 'image_url', image_url: `https://${secret}` }] }] },
    { ...minimal, stop: [secret, secret, secret, secret, secret], user: secret },
  ];
  for (const body of bodies) {
    expect(() => parseRequest(body)).toThrow(expect.objectContaining({ message: expect.not.stringContaining(secret) }));
  }
});

test.each<[string, object, object]>([
  ['an empty schema beside json_object', { response_format: { type: 'json_object', schema: {} } }, { kind: 'json-object' }],
  ['JSON by two fields', { response_format: { type: 'json_object' }, structured_outputs: { json_object: true } }, { kind: 'json-object' }],
  ['a schema beside json_object', { response_format: { type: 'json_object' }, guided_json: SCHEMA }, ENFORCED],
  ['the same schema twice', { guided_json: SCHEMA, structured_outputs: { json: JSON.stringify(SCHEMA) } }, ENFORCED],
  [
    'the same schema in response_format',
    { response_format: { type: 'json_schema', json_schema: { name: 'a', schema: SCHEMA } }, guided_json: SCHEMA },
    { ...ENFORCED, name: 'a' },
  ],
])('an output format in other words: %s', (_what, fields, output) => {
  expect(parseRequest({ ...minimal, ...fields }).request.output).toEqual(output);
});

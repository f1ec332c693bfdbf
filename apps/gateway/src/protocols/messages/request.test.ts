import { parseCountRequest, parseRequest } from './request.js';

const minimal = { model: 'sim-fast', max_tokens: 64, messages: [{ role: 'user', content: 'Hello' }] };

test('a schema is forwarded unchanged, with its keys in order [T-47]', () => {
  const input_schema = JSON.parse('{"z":1,"type":"object","a":{"y":2,"b":3},"__proto__":{"x":1},"properties":{}}');
  const { request } = parseRequest({ ...minimal, tools: [{ name: 'f', input_schema }] });
  expect(request.tools[0]?.parameters).toBe(input_schema);
});

test('a string and an array are the same system prompt [messages-system, T-43]', () => {
  const text = 'Be brief.';
  expect(parseRequest({ ...minimal, system: [{ type: 'text', text }] })).toEqual(parseRequest({ ...minimal, system: text }));
});

test('a tool with an unsafe name has one safe name in declaration, choice and history', () => {
  const name = 'weather/get now';
  const { request } = parseRequest({
    ...minimal,
    tools: [{ name, input_schema: {} }],
    tool_choice: { type: 'tool', name },
    messages: [...minimal.messages, { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name, input: {} }] }],
  });
  const wireName = request.tools[0]?.wireName;
  expect(wireName).toMatch(/^weather_get_now_[0-9a-f]{10}$/);
  expect(request.toolChoice).toEqual({ kind: 'tool', wireName });
  expect(request.turns[1]).toEqual({
    role: 'assistant',
    parts: [{ type: 'tool-call', callId: 'c', tool: { name }, wireName, argumentsText: '{}', kind: 'function' }],
  });
});

test.each<[choice: object, toolChoice: object]>([
  [{ type: 'auto' }, { kind: 'auto' }],
  [{ type: 'any' }, { kind: 'required' }],
  [{ type: 'none' }, { kind: 'none' }],
  [
    { type: 'tool', name: 'f' },
    { kind: 'tool', wireName: 'f' },
  ],
])('tool_choice %j reaches the model [messages-tool-choice]', (tool_choice, toolChoice) => {
  const tools = ['e', 'f'].map((name) => ({ name, input_schema: {} }));
  expect(parseRequest({ ...minimal, tools, tool_choice }).request.toolChoice).toEqual(toolChoice);
});

test('a system message does not change the turns before it [M-4, T-9]', () => {
  const history = [
    { role: 'user', content: 'Hello' },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'f', input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: 'done' }] },
  ];
  const turns = (messages: object[]) => parseRequest({ ...minimal, system: 'Be brief.', messages }).request.turns;
  const before = turns(history);
  const after = turns([...history, { role: 'system', content: 'It is late.' }, { role: 'user', content: 'Go on.' }]);
  expect(after.slice(0, before.length)).toEqual(before);
  expect(after.slice(before.length)).toEqual([
    { role: 'system', parts: [{ type: 'text', text: 'It is late.' }] },
    { role: 'user', parts: [{ type: 'text', text: 'Go on.' }] },
  ]);
});

test('a body with 100,000 blocks, messages and results is parsed', () => {
  const many = <Item>(item: Item): Item[] => Array.from({ length: 100_000 }, () => item);
  const blocks = parseRequest({ ...minimal, messages: [{ role: 'user', content: many({ type: 'text', text: 'a' }) }] });
  expect(blocks.request.turns).toMatchObject([{ role: 'user', parts: { length: 100_000 } }]);
  const calls = Array.from({ length: 100_000 }, (_, index) => ({ type: 'tool_use', id: `c${index}`, name: 'f' }));
  const results = calls.map(({ id }) => [
    { role: 'system', content: 'a' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'b' },
        { type: 'tool_result', tool_use_id: id },
      ],
    },
  ]);
  const { turns } = parseRequest({ ...minimal, messages: [{ role: 'assistant', content: calls }, ...results.flat()] }).request;
  expect(turns).toHaveLength(200_002);
  expect(turns[1]).toMatchObject({ role: 'tool', results: { length: 100_000 } });
});

test('count_tokens reads the same prompt and no other field [count-tokens-request, M-40]', () => {
  const prompt = {
    model: 'sim-fast',
    system: 'Be brief.',
    messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } }] }],
    tools: [{ name: 'f', input_schema: {} }],
  };
  const { model, turns, tools, output } = parseRequest({ ...prompt, max_tokens: 64 }).request;
  expect(parseCountRequest(prompt)).toEqual({ model, turns, tools, output });
  const odd = { max_tokens: 'none', temperature: 9, stream: 5, thinking: 5, tool_choice: 5, stop_sequences: 5 };
  expect(parseCountRequest({ ...prompt, ...odd })).toEqual({ model, turns, tools, output });
  expect(() => parseCountRequest({ ...prompt, model: 5 })).toThrow(expect.objectContaining({ param: 'model' }));
  expect(() => parseCountRequest({ ...prompt, messages: [] })).toThrow(expect.objectContaining({ param: 'messages' }));
});

test('the message for a link contains the code, because this format has no field for it [messages-image-links, M-11]', () => {
  const link = { type: 'image', source: { type: 'url', url: 'https://a.example/my-secret.png' } };
  expect(() => parseRequest({ ...minimal, messages: [{ role: 'user', content: [link] }] })).toThrow(
    expect.objectContaining({ message: expect.stringMatching(/base64.*image_url_not_supported/) }),
  );
});

test('errors contain nothing of the prompt', () => {
  const secret = 'my secret';
  const bodies = [
    { ...minimal, messages: [{ role: secret, content: secret }] },
    { ...minimal, messages: [{ role: 'user', content: [{ type: secret, text: secret }] }] },
    { ...minimal, messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'url', url: secret } }] }] },
    { ...minimal, messages: [{ role: 'assistant', content: [{ type: 'tool_use', id: secret, name: secret, input: secret }] }] },
    { ...minimal, stop_sequences: [secret, secret, secret, secret, secret], system: 5 },
  ];
  for (const body of bodies) {
    expect(() => parseRequest(body)).toThrow(expect.objectContaining({ message: expect.not.stringContaining(secret) }));
  }
});

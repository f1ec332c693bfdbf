import { GatewayError } from '#inference/errors.js';
import { parseRequest } from './request.js';

const minimal = { model: 'sim-fast', input: 'Hello' };
const functionTool = (name: string) => ({ type: 'function', name });
const namespace = (name: string, ...tools: object[]) => ({ type: 'namespace', name, tools });

test('a schema is forwarded unchanged, with its keys in order [T-47]', () => {
  const parameters = JSON.parse('{"z":1,"type":"object","a":{"y":2,"b":3},"__proto__":{"x":1},"properties":{}}');
  const { request, echo } = parseRequest({ ...minimal, tools: [{ ...functionTool('f'), parameters }] });
  expect(request.tools[0]?.parameters).toBe(parameters);
  expect(echo).toContain(JSON.stringify(parameters));
});

test.each<[choice: unknown, toolChoice: object]>([
  ['none', { kind: 'none' }],
  ['auto', { kind: 'auto' }],
  ['required', { kind: 'required' }],
  [functionTool('f'), { kind: 'tool', wireName: 'f' }],
])('tool_choice %j reaches the model [responses-tool-choice]', (tool_choice, toolChoice) => {
  const tools = [functionTool('e'), functionTool('f')];
  expect(parseRequest({ ...minimal, tools, tool_choice }).request.toolChoice).toEqual(toolChoice);
});

test('tools of the same name keep their upstream names when the order of the later ones changes [responses-namespaces, T-6]', () => {
  const wireNames = (...tools: object[]) => parseRequest({ ...minimal, tools }).request.tools.map(({ wireName }) => wireName);
  const [plain, inA, inB] = [functionTool('close'), namespace('a', functionTool('close')), namespace('b', functionTool('close'))];
  const [first, ofA, ofB] = wireNames(plain, inA, inB);
  expect([first, ofA, ofB]).toEqual([
    'close',
    expect.stringMatching(/^close_[0-9a-f]{10}$/),
    expect.stringMatching(/^close_[0-9a-f]{10}$/),
  ]);
  expect(wireNames(plain, inB, inA)).toEqual([first, ofB, ofA]);
});

test('a call gets the name of its declaration, with its namespace or, if unambiguous, without [T-7]', () => {
  const call = (name: string, namespace?: string) => ({ type: 'function_call', call_id: 'c', name, arguments: '{}', namespace });
  const toWireName = (tools: object[], item: object) => {
    const [, turn] = parseRequest({ ...minimal, tools, input: [{ role: 'user', content: 'x' }, item] }).request.turns;
    return turn?.role === 'assistant' && turn.parts[0]?.type === 'tool-call' ? turn.parts[0].wireName : undefined;
  };
  const tools = [namespace('a', functionTool('open'), functionTool('close')), namespace('b', functionTool('close'))];
  const [, , closeOfB] = parseRequest({ ...minimal, tools }).request.tools;
  expect(toWireName(tools, call('close', 'a'))).toBe('close');
  expect(toWireName(tools, call('close', 'b'))).toBe(closeOfB?.wireName);
  expect(toWireName(tools, call('open'))).toBe('open');
  expect(toWireName(tools, call('close'))).not.toMatch(new RegExp(`^(close|${closeOfB?.wireName})$`));
});

test('an unsafe name gets a safe upstream name', () => {
  const { request } = parseRequest({ ...minimal, tools: [namespace('mcp', functionTool('a.b/c'))] });
  expect(request.tools[0]).toMatchObject({
    key: { name: 'a.b/c', namespace: 'mcp' },
    wireName: expect.stringMatching(/^a_b_c_[0-9a-f]{10}$/),
  });
});

test.each([
  { type: 'compaction', encrypted_content: 'gAAA' },
  { type: 'context_compaction', encrypted_content: 'gAAA' },
  { type: 'compaction_trigger' },
  { type: 'memory', text: 'The user is called Ada.' },
  { type: 'note', content: 'The user is called Ada.' },
])('an item that stands for a conversation is refused: %j', (item) => {
  const parse = () => parseRequest({ ...minimal, input: [item, { role: 'user', content: 'Go on.' }] });
  expect(parse).toThrow(expect.objectContaining({ code: 'unsupported_parameter', param: 'input[0].type' }));
});

test('additional tools follow the top-level tools, and a later declaration replaces an earlier one [R-1b]', () => {
  const { request } = parseRequest({
    ...minimal,
    tools: [functionTool('a')],
    input: [
      { type: 'additional_tools', tools: [functionTool('b'), { ...functionTool('a'), description: 'Newer.' }] },
      { role: 'user', content: 'Hello' },
    ],
  });
  expect(request.tools.map(({ key, description }) => [key.name, description])).toEqual([
    ['a', 'Newer.'],
    ['b', undefined],
  ]);
});

test.each(['auto', 'none'])('the choice %s is dropped when no tool is left [R-1f, T-4]', (tool_choice) => {
  expect(parseRequest({ ...minimal, tools: [{ type: 'web_search' }], tool_choice }).request.toolChoice).toBeUndefined();
});

test('a hosted tool of any type is dropped, and the reply does not repeat it [R-1a]', () => {
  const tools = [{ type: 'web_search_of_tomorrow', function: { name: 'f' } }, functionTool('f'), { type: 'custom', name: 'c' }];
  const { request, echo } = parseRequest({ ...minimal, tools, tool_choice: 'required' });
  expect(request.tools.map(({ key }) => key.name)).toEqual(['f', 'c']);
  const { tools: repeated }: { tools: { type: string; name: string }[] } = JSON.parse(echo);
  expect(repeated.map(({ type, name }) => [type, name])).toEqual([
    ['function', 'f'],
    ['custom', 'c'],
  ]);
});

test.each(['previous_response_id', 'conversation', 'prompt', 'background'])(
  'the error for %s names an alternative [responses-stored-state]',
  (field) => {
    const advice = field === 'background' ? /set `stream` to true/ : /send the (whole conversation|text of the prompt) in/;
    expect(() => parseRequest({ ...minimal, [field]: true })).toThrow(advice);
  },
);

test('200,000 parts in an array are accepted', () => {
  const content = Array.from({ length: 200_000 }, () => ({ type: 'input_text', text: 'x' }));
  const { request } = parseRequest({ ...minimal, input: [{ role: 'assistant', content }] });
  expect(request.turns[0]?.role === 'assistant' && request.turns[0].parts.length).toBe(200_000);
});

test('errors contain nothing of the prompt', () => {
  const secret = 'my secret';
  const bodies = [
    { ...minimal, input: [{ role: secret, content: secret }] },
    { ...minimal, input: [{ type: 'item_reference', id: secret }] },
    { ...minimal, input: [{ role: 'user', content: [{ type: secret, text: secret }] }] },
    { ...minimal, input: [{ role: 'user', content: [{ type: 'input_image', image_url: `https://${secret}` }] }] },
    { ...minimal, previous_response_id: secret },
    { ...minimal, metadata: { [secret]: 5 } },
    { ...minimal, tools: [functionTool(secret), functionTool(secret)] },
  ];
  for (const body of bodies) {
    const parse = () => parseRequest(body);
    expect(parse).toThrow(GatewayError);
    expect(parse).toThrow(expect.objectContaining({ message: expect.not.stringContaining(secret) }));
  }
});

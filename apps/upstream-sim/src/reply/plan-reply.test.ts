import type { ChatRequest } from '../dialects/chat/parse-request.js';
import { findDirectives } from '../directives.js';
import { SIM_MODELS, type SimModel } from './models.js';
import { planReply, type ReplyPlan, textOfLastUser } from './plan-reply.js';

const weather = {
  type: 'function',
  function: { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } },
} as const;
const time = { type: 'function', function: { name: 'time' } } as const;

function plan(text: string, rest: Partial<ChatRequest> = {}): ReplyPlan {
  const request: ChatRequest = { model: 'sim-fast', messages: [{ role: 'user', content: text }], ...rest };
  return planReply(request, SIM_MODELS.get(request.model) as SimModel, findDirectives(textOfLastUser(request)));
}

test('the same request gets the same reply', () => {
  expect(plan('hello')).toEqual(plan('hello'));
  expect(plan('hello').text).not.toBe(plan('hallo').text);
});

test('has 32 tokens of four bytes by default; a longer reply starts with the shorter one', () => {
  const { text, usage, finish } = plan('hello');
  expect({ bytes: text.length, usage, finish }).toEqual({
    bytes: 128,
    usage: { prompt_tokens: 2, completion_tokens: 32, total_tokens: 34 },
    finish: 'stop',
  });
  expect(plan('hello', { max_tokens: 5 })).toMatchObject({ text: text.slice(0, 20), finish: 'length', usage: { completion_tokens: 5 } });
});

test('unicode words have four bytes a token', () => {
  const { text, usage } = plan('[[sim tokens=50 unicode]]');
  expect({ bytes: Buffer.byteLength(text), tokens: usage.completion_tokens }).toEqual({ bytes: 200, tokens: 50 });
  expect(text.length).toBeLessThan(200);
});

test('directives set reasoning, text and refusal', () => {
  expect(plan('[[sim think="Hm." say="Yes, indeed."]]')).toMatchObject({
    reasoning: 'Hm.',
    text: 'Yes, indeed.',
    isRefusal: false,
    usage: { completion_tokens: 4, completion_tokens_details: { reasoning_tokens: 1 } },
  });
  expect(plan('[[sim say="Yes." refusal="No."]]')).toMatchObject({ text: 'No.', isRefusal: true, finish: 'stop' });
});

test('reasoning comes first and counts towards the limit', () => {
  expect(plan('hello', { model: 'sim-reason', max_completion_tokens: 20 })).toMatchObject({
    finish: 'length',
    usage: { completion_tokens: 20, completion_tokens_details: { reasoning_tokens: 16 } },
  });
  expect(plan('hello', { model: 'sim-reason', max_completion_tokens: 10 })).toMatchObject({ text: '', finish: 'length' });
  expect(plan('hello [[sim reasoning=0]]', { model: 'sim-reason' }).reasoning).toBe('');
});

test('cuts at a whole character', () => {
  expect(plan('[[sim say="aé漢漢x"]]', { max_tokens: 2 })).toMatchObject({ text: 'aé漢', finish: 'length' });
});

test('the first stop sequence within the limit ends the text', () => {
  const say = '[[sim say="one two three"]]';
  expect(plan(say, { stop: ['three', ' two'] })).toMatchObject({ text: 'one', finish: 'stop', usage: { completion_tokens: 1 } });
  expect(plan(say, { stop: 'three', max_tokens: 1 })).toMatchObject({ text: 'one ', finish: 'length' });
});

test('calls a named tool with the smallest arguments that its schema accepts', () => {
  expect(plan('please call weather now', { tools: [weather] })).toMatchObject({
    text: '',
    calls: [{ name: 'weather', arguments: '{"city":"sim"}' }],
    finish: 'tool_calls',
    usage: { completion_tokens: 4 },
  });
});

test('several named tools are parallel calls; arguments in the text are copied byte for byte', () => {
  const text = 'call weather {"city": "Rome {}"}, call time and call nothing';
  const { calls } = plan(text, { tools: [weather, time] });
  expect(calls.map(({ name, arguments: json }) => [name, json])).toEqual([
    ['weather', '{"city": "Rome {}"}'],
    ['time', '{}'],
  ]);
  expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
  expect(plan(text, { tools: [weather, time], parallel_tool_calls: false }).calls).toHaveLength(1);
});

test('tool_choice forces, requires or prevents calls', () => {
  const names = (tool_choice: ChatRequest['tool_choice'], text = 'hello') =>
    plan(text, { tools: [weather, time], tool_choice }).calls.map(({ name }) => name);
  expect(names({ type: 'function', function: { name: 'time' } })).toEqual(['time']);
  expect(names('required')).toEqual(['weather']);
  expect(names('required', 'call time')).toEqual(['time']);
  expect(names('none', 'call time')).toEqual([]);
  expect(names('auto')).toEqual([]);
  expect(names('auto', '[[sim say="call time"]]')).toEqual([]);
});

test('quotes tool results', () => {
  const messages: ChatRequest['messages'] = [
    { role: 'user', content: 'call weather, call time' },
    { role: 'assistant', content: null, tool_calls: [{ id: 'a', function: { name: 'weather', arguments: '{}' } }] },
    { role: 'tool', tool_call_id: 'a', content: 'sunny' },
    { role: 'tool', tool_call_id: 'b', content: '[7]' },
  ];
  expect(plan('', { messages, tools: [weather, time] })).toMatchObject({ text: 'The result is: sunny | [7].', calls: [], finish: 'stop' });
});

test('a call cut by the limit keeps part of its arguments and finishes with length', () => {
  expect(plan('call weather, call time', { tools: [weather, time], max_tokens: 2 })).toMatchObject({
    calls: [{ name: 'weather', arguments: '{"city":' }],
    finish: 'length',
  });
});

test('JSON formats give JSON', () => {
  expect(JSON.parse(plan('hello [[sim tokens=2]]', { response_format: { type: 'json_object' } }).text)).toEqual({
    answer: expect.stringMatching(/^\w{3} \w{3}$/),
  });
  const schema = { type: 'object', properties: { n: { type: 'integer', minimum: 3 } }, required: ['n'] };
  expect(plan('hello', { response_format: { type: 'json_schema', json_schema: { name: 'x', schema } } }).text).toBe('{"n":3}');
});

test('describes images, or refuses them', () => {
  const content = [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AQID' } }] as const;
  const messages: ChatRequest['messages'] = [{ role: 'user', content: [...content] }];
  expect(plan('', { model: 'sim-vision', messages })).toMatchObject({
    text: 'I see 1 image: image/png of 3 bytes (sha256 039058c6).',
    usage: { prompt_tokens: 256 },
  });
  expect(() => plan('', { messages })).toThrow('Model sim-fast does not support image input.');
});

test('sim-tiny has 2,048 tokens of context and 256 of output', () => {
  const text = 'x'.repeat(4 * 2_000);
  expect(plan('hello [[sim tokens=999]]', { model: 'sim-tiny', max_tokens: 900 })).toMatchObject({
    finish: 'length',
    usage: { completion_tokens: 256 },
  });
  expect(plan(text, { model: 'sim-tiny', max_tokens: 48 }).usage.prompt_tokens).toBe(2_000);
  expect(() => plan(text, { model: 'sim-tiny', max_tokens: 49 })).toThrow(/maximum context length is 2048 tokens/);
});

test('directives override the usage', () => {
  expect(plan('hi [[sim tokens=1 prompt=10 cached=20 completion=999]]').usage).toEqual({
    prompt_tokens: 10,
    completion_tokens: 999,
    total_tokens: 1_009,
    prompt_tokens_details: { cached_tokens: 10 },
  });
});

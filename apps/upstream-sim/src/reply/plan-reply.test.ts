import type { ChatRequest } from '../chat-request.js';
import { findDirectives } from '../directives.js';
import { SIM_MODELS, type SimModel } from './models.js';
import { planReply, type ReplyPlan, readLastUserText } from './plan-reply.js';

const weather = {
  type: 'function',
  function: { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } },
} as const;
const time = { type: 'function', function: { name: 'time' } } as const;

function plan(text: string, rest: Partial<ChatRequest> = {}): ReplyPlan {
  const request: ChatRequest = { model: 'sim-fast', messages: [{ role: 'user', content: text }], ...rest };
  return planReply(request, SIM_MODELS.get(request.model) as SimModel, findDirectives(readLastUserText(request)));
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

test('cuts at a whole character', () => {
  expect(plan('[[sim say="aé漢漢x"]]', { max_tokens: 2 })).toMatchObject({ text: 'aé漢', finish: 'length' });
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

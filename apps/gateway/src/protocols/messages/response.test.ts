import type { Completion } from '#inference/completion.js';
import { reportedUsage } from '#testing/token-usage.js';
import { renderStopReason } from './finish-reason.js';
import { parseRequest } from './request.js';
import { renderCompletion } from './response.js';
import { renderUsage } from './usage.js';

test.each([
  ['stop', false, 'end_turn'],
  ['stop', true, 'tool_use'],
  ['stop-sequence', false, 'end_turn'],
  ['stop-sequence', true, 'tool_use'],
  ['tool-calls', true, 'tool_use'],
  ['tool-calls', false, 'end_turn'],
  ['content-filter', false, 'refusal'],
  ['content-filter', true, 'tool_use'],
  ['length', false, 'max_tokens'],
  ['length', true, 'max_tokens'],
] as const)('%s with tool calls %p is %s [messages-stop-reason, M-29, T-18, T-19]', (reason, hasToolCalls, rendered) => {
  expect(renderStopReason(reason, hasToolCalls, false)).toBe(rendered);
});

test.each([
  ['stop', false, 'refusal'],
  ['stop-sequence', false, 'refusal'],
  ['length', false, 'max_tokens'],
  ['tool-calls', true, 'tool_use'],
] as const)('a refusal text that ends with %s, with tool calls %p, is %s [messages-stop-reason]', (reason, hasToolCalls, rendered) => {
  expect(renderStopReason(reason, hasToolCalls, true)).toBe(rendered);
});

test('input and cached tokens add up to the prompt [messages-usage, messages-usage-billed, M-21, T-24]', () => {
  expect(renderUsage(reportedUsage(100, 7, { cachedTokens: 100, reasoningTokens: 3 }))).toEqual({
    input_tokens: 0,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 100,
    output_tokens: 7,
  });
});

const reply = { id: 'x1', requestId: 'req_x1', createdSeconds: 1, nowSeconds: () => 3, model: 'm' };
const completion: Completion = {
  text: 'Hi.',
  trailingText: '',
  refusal: '',
  trailingRefusal: '',
  reasoning: 'Hm.',
  leadingReasoning: 'Hm.',
  toolCalls: [],
  finishReason: 'stop',
  usage: { promptTokens: 5, cachedTokens: 0, outputTokens: 2, reasoningTokens: 1, promptSource: 'reported', outputSource: 'reported' },
};

function plain(over: Partial<Completion>, thinking?: object): string {
  const parsed = parseRequest({ model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'Hello' }], thinking });
  return renderCompletion(reply, parsed, { ...completion, ...over });
}

const parseContent = (body: string) => JSON.parse(body).content;
const text = (text: string) => ({ type: 'text', text });

test.each([[undefined], [{ type: 'disabled' }]])(
  'thinking is hidden with %j, and its tokens are billed [messages-thinking-block, messages-thinking, M-9, T-38]',
  (thinking) => {
    expect(parseContent(plain({}, thinking))).toEqual([text('Hi.')]);
    expect(JSON.parse(plain({}, thinking)).usage.output_tokens).toBe(2);
  },
);

test.each(['enabled', 'adaptive', 'between_tools', 'unheard_of'])(
  'thinking is shown with %s [messages-thinking-block, messages-thinking, M-9, T-38]',
  (type) => {
    expect(parseContent(plain({}, { type }))).toEqual([{ type: 'thinking', thinking: 'Hm.', signature: '' }, text('Hi.')]);
  },
);

test('numbers keep their digits [T-46]', () => {
  const argumentsText = '{"big": 12345678901234567890123, "price":1.10}';
  const body = plain({ toolCalls: [{ callId: 'c', tool: { name: 'f' }, kind: 'function', argumentsText }] });
  expect(body).toContain('"input":{"big": 12345678901234567890123, "price":1.10}}');
});

test('arguments that are not JSON become an object, and unsafe ids are replaced [M-13, U-21]', () => {
  const toolCalls = [{ callId: 'functions.f:0', tool: { name: 'f' }, kind: 'function' as const, argumentsText: "{'a':1}" }];
  expect(parseContent(plain({ text: '', toolCalls }))).toEqual([
    { type: 'tool_use', id: expect.stringMatching(/^toolu_[0-9a-f]{24}$/), name: 'f', input: { _raw: "{'a':1}" } },
  ]);
});

test('text after a call follows all calls, and reasoning after text is hidden', () => {
  const toolCalls = [{ callId: 'c', tool: { name: 'f' }, kind: 'function' as const, argumentsText: '{}' }];
  const body = plain({ text: 'Hi. Bye.', trailingText: ' Bye.', leadingReasoning: '', toolCalls }, { type: 'enabled' });
  expect(parseContent(body)).toEqual([text('Hi.'), { type: 'tool_use', id: 'c', name: 'f', input: {} }, text(' Bye.')]);
});

test('only the stop sequence is null, and there are no fields beyond those of the format [messages-object, M-31]', () => {
  expect(Object.keys(JSON.parse(plain({})))).toEqual(['id', 'type', 'role', 'model', 'content', 'stop_reason', 'stop_sequence', 'usage']);
  expect(plain({}).match(/"[a-z_]+":null/g)).toEqual(['"stop_sequence":null']);
});

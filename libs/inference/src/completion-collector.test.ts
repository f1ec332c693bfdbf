import { collectCompletion } from '#testing/collect-completion.js';
import { GatewayError } from './errors.js';
import type { StreamEvent } from './stream-event.js';
import type { Usage } from './usage.js';

const usage: Usage = {
  promptTokens: 9,
  cachedTokens: 4,
  outputTokens: 6,
  reasoningTokens: 2,
  promptSource: 'reported',
  outputSource: 'reported',
};

test('joins text, reasoning and interleaved calls', () => {
  const completion = collectCompletion([
    { type: 'upstream-start', upstream: 'local' },
    { type: 'reasoning-delta', text: 'let me ' },
    { type: 'reasoning-delta', text: 'see' },
    { type: 'text-delta', text: 'Hel' },
    { type: 'text-delta', text: 'lo' },
    { type: 'tool-call-start', index: 0, callId: 'a', tool: { name: 'add' }, kind: 'function' },
    { type: 'tool-call-start', index: 1, callId: 'b', tool: { name: 'sub', namespace: 'maths' }, kind: 'function' },
    { type: 'tool-call-delta', index: 1, text: '{"y"' },
    { type: 'tool-call-delta', index: 0, text: '{}' },
    { type: 'tool-call-delta', index: 1, text: ':1}' },
    { type: 'tool-call-end', index: 0 },
    { type: 'tool-call-end', index: 1 },
    { type: 'usage-report', usage: { ...usage, outputTokens: 1 } },
    { type: 'usage-report', usage },
    { type: 'completion-finish', reason: 'tool-calls' },
  ]);
  expect(completion).toEqual({
    text: 'Hello',
    trailingText: '',
    refusal: '',
    trailingRefusal: '',
    reasoning: 'let me see',
    leadingReasoning: 'let me see',
    toolCalls: [
      { callId: 'a', tool: { name: 'add' }, kind: 'function', argumentsText: '{}' },
      { callId: 'b', tool: { name: 'sub', namespace: 'maths' }, kind: 'function', argumentsText: '{"y":1}' },
    ],
    finishReason: 'tool-calls',
    usage,
  });
});

test('separates text after the first call and reasoning before the first text', () => {
  const completion = collectCompletion([
    { type: 'reasoning-delta', text: 'first ' },
    { type: 'text-delta', text: 'One ' },
    { type: 'reasoning-delta', text: 'second' },
    { type: 'text-delta', text: 'two ' },
    { type: 'tool-call-start', index: 0, callId: 'a', tool: { name: 'add' }, kind: 'function' },
    { type: 'text-delta', text: 'three ' },
    { type: 'tool-call-delta', index: 0, text: '{}' },
    { type: 'tool-call-end', index: 0 },
    { type: 'refusal-delta', text: 'four' },
    { type: 'reasoning-delta', text: ' third' },
    { type: 'usage-report', usage },
    { type: 'completion-finish', reason: 'stop' },
  ]);
  expect(completion).toEqual({
    text: 'One two three ',
    trailingText: 'three ',
    refusal: 'four',
    trailingRefusal: 'four',
    reasoning: 'first second third',
    leadingReasoning: 'first ',
    toolCalls: [{ callId: 'a', tool: { name: 'add' }, kind: 'function', argumentsText: '{}' }],
    finishReason: 'stop',
    usage,
  });
});

test('throws a failure with code, message and retry time', () => {
  const failing = () => collectCompletion([{ type: 'completion-failure', code: 'model_capacity', message: 'Busy.', retryAfterSeconds: 7 }]);
  expect(failing).toThrow(new GatewayError('model_capacity', 'Busy.', { retryAfterSeconds: 7 }));
  expect(failing).toThrow(expect.objectContaining({ code: 'model_capacity', status: 429, retryAfterSeconds: 7 }));
});

test('a stream without its terminal event fails [T-30]', () => {
  const cut: StreamEvent[] = [
    { type: 'text-delta', text: 'Hel' },
    { type: 'usage-report', usage },
  ];
  expect(() => collectCompletion(cut)).toThrow(expect.objectContaining({ code: 'upstream_error', status: 502 }));
});

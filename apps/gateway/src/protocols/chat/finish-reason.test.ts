import { renderFinishReason } from './finish-reason.js';

test.each([
  ['stop', false, 'stop'],
  ['stop', true, 'tool_calls'],
  ['stop-sequence', false, 'stop'],
  ['stop-sequence', true, 'tool_calls'],
  ['tool-calls', true, 'tool_calls'],
  ['tool-calls', false, 'stop'],
  ['content-filter', false, 'stop'],
  ['content-filter', true, 'tool_calls'],
  ['length', false, 'length'],
  ['length', true, 'length'],
] as const)('%s with tool calls %p is %s [chat-finish-reason, C-21, T-18, T-19]', (reason, hasToolCalls, rendered) => {
  expect(renderFinishReason(reason, hasToolCalls)).toBe(rendered);
});

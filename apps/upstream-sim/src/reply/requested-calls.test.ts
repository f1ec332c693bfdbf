import type { ChatMessage, ChatRequest } from '../chat-request.js';
import { requestedCalls } from './requested-calls.js';

const USER: ChatMessage = { role: 'user', content: 'call look {"at":"it"}' };
const SYSTEM: ChatMessage = { role: 'system', content: 'It is Monday.' };
const CALL: ChatMessage = {
  role: 'assistant',
  content: null,
  tool_calls: [{ id: 'c1', function: { name: 'look', arguments: '{"at":"it"}' } }],
};
const RESULT: ChatMessage = { role: 'tool', tool_call_id: 'c1', content: 'seen' };

test.each([
  ["the user's words", [USER], ['look']],
  ["a system message behind the user's words, as Claude Code sends it", [USER, SYSTEM], ['look']],
  ['the result of the call', [USER, CALL, RESULT], []],
  ['a system message behind the result', [USER, CALL, RESULT, SYSTEM], []],
])('after %s', (_, messages, expected) => {
  expect(callsAfter(messages)).toEqual(expected);
});

function callsAfter(messages: ChatMessage[]): string[] {
  const request: ChatRequest = { model: 'sim-fast', messages, tools: [{ type: 'function', function: { name: 'look' } }] };
  return requestedCalls(request, 'call look {"at":"it"}').map(({ name }) => name);
}

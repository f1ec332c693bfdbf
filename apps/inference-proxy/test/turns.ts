import type { AssistantTurn, TextPart, Turn } from '#inference/turn.js';

export const text = (value: string): TextPart => ({ type: 'text', text: value });

export const says = (role: 'system' | 'user' | 'assistant', ...values: string[]): Turn => ({ role, parts: values.map(text) });

/** Calls of the tool `run`, with the same arguments. */
export const calls = (...callIds: string[]): AssistantTurn => ({
  role: 'assistant',
  parts: callIds.map((callId) => ({
    type: 'tool-call',
    callId,
    tool: { name: 'run' },
    wireName: 'run',
    kind: 'function',
    argumentsText: '{"a":1}',
  })),
});

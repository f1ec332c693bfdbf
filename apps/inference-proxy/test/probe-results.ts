import type { Usage } from '#inference/usage.js';
import type { Exchange, ExchangeFailure } from '../src/probe/probe-result.js';

export const REPORTED: Usage = {
  promptTokens: 20,
  cachedTokens: 0,
  outputTokens: 4,
  reasoningTokens: 0,
  promptSource: 'reported',
  outputSource: 'reported',
};

/** A reply that went well, with what a test says otherwise. */
export function exchange(over: Partial<Exchange> = {}): Exchange {
  return { text: 'Yes.', reasoning: '', toolCalls: [], finishReason: 'stop', usage: REPORTED, contentAtMs: [40], totalMs: 50, ...over };
}

/** A reply that was none. */
export function failed(over: Partial<ExchangeFailure>): Exchange {
  const failure: ExchangeFailure = {
    kind: 'rejected',
    code: 'upstream_error',
    status: 400,
    words: '400 invalid_request_error Unknown parameter',
    ...over,
  };
  return { failure, text: '', reasoning: '', toolCalls: [], contentAtMs: [], totalMs: 50 };
}

export function called(name: string, argumentsText = '{"city":"Paris"}'): Exchange['toolCalls'][number] {
  return { callId: `call_${name}`, tool: { name }, kind: 'function', argumentsText };
}

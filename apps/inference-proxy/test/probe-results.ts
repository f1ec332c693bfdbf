import type { Usage } from '#inference/usage.js';
import { reportedUsage } from '#testing/token-usage.js';
import type { ProbeFailure, ProbeResult } from '../src/probe/probe-result.js';

export const REPORTED: Usage = reportedUsage(20, 4);

/** A good reply, with the given overrides. */
export function result(over: Partial<ProbeResult> = {}): ProbeResult {
  return { text: 'Yes.', reasoning: '', toolCalls: [], finishReason: 'stop', usage: REPORTED, contentAtMs: [40], totalMs: 50, ...over };
}

/** A failed request, with the given overrides. */
export function failed(over: Partial<ProbeFailure>): ProbeResult {
  const failure: ProbeFailure = {
    kind: 'rejected',
    code: 'upstream_error',
    status: 400,
    text: 'Unknown parameter',
    ...over,
  };
  return { failure, text: '', reasoning: '', toolCalls: [], contentAtMs: [], totalMs: 50 };
}

export function called(name: string, argumentsText = '{"city":"Paris"}'): ProbeResult['toolCalls'][number] {
  return { callId: `call_${name}`, tool: { name }, kind: 'function', argumentsText };
}

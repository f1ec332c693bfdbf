import type { GenerateRequest } from '#contracts/inference.js';
import type { Span, SpanAttributes, Tracer } from '#tracing/tracer.js';
import type { RouteCall } from '../routing/route-state.js';
import { RunTrace } from './run-trace.js';

const JOB = { ticket: { requestId: 'req_1', holdId: 'h', outputTokensMax: 1 }, request: { model: 'm' } } as unknown as GenerateRequest;

function callWith(tracer: Tracer | undefined): RouteCall {
  const client = { upstream: { id: 'u', kind: 'openai-chat' } };
  const call = { client, model: 'm', route: { breaker: { state: 'closed' } } } as unknown as RouteCall;
  new RunTrace(JOB, undefined, { tracer }).startAttempt(call);
  return call;
}

test('the span of an attempt gets the first names of the reply; one that is empty, long or no text is left out', () => {
  const set: SpanAttributes[] = [];
  const span = { startChild: () => span, set: (attributes: SpanAttributes) => void set.push(attributes) } as unknown as Span;
  const { onReply } = callWith({ startRoot: () => span, close: async () => undefined });
  for (const reply of [{}, { id: '', model: 7 }, { id: 'x'.repeat(257), model: 'model-1' }, { id: 'later', model: 'later' }])
    onReply?.(reply);
  expect(set).toEqual([{ 'gen_ai.response.id': undefined, 'gen_ai.response.model': 'model-1' }]);
});

test('without a tracer the names are not even read', () => {
  expect(callWith(undefined).onReply).toBeUndefined();
});

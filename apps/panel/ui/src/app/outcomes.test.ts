import { isError, outcomeName, outcomeOf, outcomeTone } from './outcomes.js';

test.each([
  [{ status: 200, code: null }, 'Completed', 'good', false],
  [{ status: 200, code: 'client_disconnected' }, 'Client left', 'warn', false],
  [{ status: 499, code: 'client_disconnected' }, 'Client left', 'warn', false],
  [{ status: 429, code: 'rate_limit_exceeded' }, '429 rate_limit_exceeded', 'warn', true],
  [{ status: 503, code: 'model_unavailable' }, '503 model_unavailable', 'bad', true],
  // A stream that broke after its head.
  [{ status: 200, code: 'upstream_error' }, '200 upstream_error', 'bad', true],
])('%j is %s', (outcome, name, tone, error) => {
  expect([outcomeName(outcome), outcomeTone(outcome), isError(outcome)]).toEqual([name, tone, error]);
});

test('a client that left without an error has a code of its own', () => {
  const request = { requestId: 'req_1', receivedAt: '', protocol: 'chat', stream: true, endedMs: 1 } as const;
  expect(outcomeOf({ ...request, status: 200, outcome: 'client-disconnected' })).toEqual({ status: 200, code: 'client_disconnected' });
  expect(outcomeOf({ ...request, status: 200, outcome: 'completed' })).toEqual({ status: 200, code: null });
});

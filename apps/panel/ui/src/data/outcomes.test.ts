import fc from 'fast-check';
import { findMeaning, isError, outcomeColours, outcomeName, outcomeTone, reasonColours, toOutcome } from './outcomes.js';

test.each([
  [{ status: 200, code: null }, 'Completed', 'good', false],
  [{ status: 200, code: 'client_disconnected' }, 'Client left', 'warn', false],
  [{ status: 499, code: 'client_disconnected' }, 'Client left', 'warn', false],
  [{ status: 429, code: 'rate_limit_exceeded' }, '429 rate_limit_exceeded', 'warn', true],
  [{ status: 503, code: 'model_unavailable' }, '503 model_unavailable', 'bad', true],
  // A stream that broke after its head.
  [{ status: 200, code: 'upstream_error' }, 'Broke off: upstream_error', 'bad', true],
])('%j is %s', (outcome, name, tone, error) => {
  expect([outcomeName(outcome), outcomeTone(outcome), isError(outcome)]).toEqual([name, tone, error]);
});

test('a client that left without an error has a code of its own', () => {
  const request = { requestId: 'req_1', receivedAt: '', protocol: 'chat', stream: true, endedMs: 1 } as const;
  expect(toOutcome({ ...request, status: 200, outcome: 'client-disconnected' })).toEqual({ status: 200, code: 'client_disconnected' });
  expect(toOutcome({ ...request, status: 200, outcome: 'completed' })).toEqual({ status: 200, code: null });
});

test.each([
  ['Completed', 'good'],
  ['Client left', 'client'],
  ['400 invalid_request', 'client'],
  ['404 model_not_found', 'client'],
  ['413 request_too_large', 'client'],
  ['402 insufficient_balance', 'refused'],
  ['429 concurrency_limit', 'refused'],
  ['403 origin_not_allowed', 'refused'],
  ['429 model_capacity', 'upstream'],
  ['502 upstream_error', 'upstream'],
  ['Broke off: upstream_error', 'upstream'],
])('%s has the colour of %s, alone and beside others [money-outcome-colours]', (name, meaning) => {
  expect(findMeaning(name)).toBe(meaning);
  const alone = outcomeColours([name]).get(name);
  expect(alone).toMatch(new RegExp(`^${meaning}-\\d$`));
  expect(outcomeColours([...new Set(['Completed', '999 unknown', name, 'Client left', '502 upstream_error'])]).get(name)).toBe(alone);
});

test('no two outcomes of a legend share a colour [money-outcome-colours]', () => {
  const status = fc.constantFrom(200, 400, 401, 402, 403, 404, 413, 429, 499, 500, 502, 503, 504);
  const code = fc.constantFrom(null, 'client_disconnected', 'upstream_error', 'rate_limit_exceeded', 'model_capacity', 'other', 'another');
  fc.assert(
    fc.property(fc.array(fc.record({ status, code }), { maxLength: 30 }), (outcomes) => {
      const names = [...new Set(outcomes.map(outcomeName))].slice(0, 6);
      expect(new Set(outcomeColours(names).values()).size).toBe(names.length);
    }),
  );
  expect(new Set(reasonColours(['completed', 'failed', 'client-disconnected', 'released', 'lease-expired']).values()).size).toBe(5);
});

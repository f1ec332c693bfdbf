import type { SettleRequest } from '#contracts/billing/holds.js';
import type { GenerateRequest } from '#contracts/inference.js';
import type { StreamEvent } from '#inference/stream-event.js';
import { InferenceRun } from './inference-run.js';
import type { LeaseLoss } from './leases/lease-keeper.js';
import type { ModelRoute } from './routing/model-route.js';

const TICKET = {
  holdId: '01990000-0000-7000-8000-000000000001',
  accountId: '01990000-0000-7000-8000-000000000002',
  requestId: 'req_1',
  outputTokensMax: 100,
  promptTokensEstimate: 20,
  leaseMs: 60_000,
};
const ROUTE = { link: { upstream: { id: 'test' } } } as unknown as ModelRoute;
const HELLO: StreamEvent = { type: 'text-delta', text: 'Hello' };
const FINISH: StreamEvent = { type: 'completion-finish', reason: 'stop' };
const SO_FAR = { promptTokens: 20, cachedTokens: 0, outputTokens: 2, reasoningTokens: 0, source: 'estimated' };

/** A run that has returned `events`, with what it asks of leases and settlements in the test's hands. */
function begin(events: StreamEvent[]) {
  const lease: { lose: (loss: LeaseLoss) => void; unsettled: (() => void) | undefined } = { lose: () => {}, unsettled: undefined };
  const settlements: { read: () => SettleRequest; delayMs: number | undefined }[] = [];
  const client = new AbortController();
  const run = new InferenceRun(
    { ticket: TICKET, request: { stream: true } } as GenerateRequest,
    { signal: client.signal, callerIsThere: async () => false },
    {
      leases: {
        keep: (_ticket, _read, lose) => {
          lease.lose = lose;
          return (unsettled) => {
            lease.unsettled = unsettled;
          };
        },
      },
      settlements: { schedule: (read, _gateway, delayMs) => settlements.push({ read, delayMs }) },
    },
  );
  const meter = run.startAttempt(ROUTE);
  for (const event of events) meter.count(event);
  run.pass(events);
  return { run, lease, settlements, client };
}

test.each([
  ['lost', 'model_unavailable'],
  ['revoked', 'invalid_api_key'],
] as const)('a lease that is %s stops the upstream: the stream says so, with what it has used (billing.md 7)', (loss, code) => {
  const { run, lease } = begin([HELLO]);
  lease.lose(loss);
  expect(run.stopped).toBe(true);
  expect([...run.closing(undefined)].flat()).toEqual([
    { type: 'usage-report', usage: SO_FAR },
    { type: 'completion-failure', code, message: expect.any(String), retryAfterSeconds: undefined },
  ]);
});

test.each([
  ['a finished one', [HELLO, FINISH], { reason: 'completed', usage: SO_FAR }],
  ['one that broke after content', [HELLO], { reason: 'failed', usage: SO_FAR }],
  ['one that failed before content', [], { reason: 'failed', usage: undefined }],
])('what a gateway leaves unsettled is settled in its place, at once when it is found: %s', (_, events, settlement) => {
  const { run, lease, settlements } = begin(events);
  Array.from(run.closing(undefined));
  run.end();
  expect(settlements).toEqual([]);
  lease.unsettled?.();
  const { holdId, accountId } = TICKET;
  expect(settlements.map(({ read, delayMs }) => [read(), delayMs])).toEqual([[{ holdId, accountId, upstream: 'test', ...settlement }, 0]]);
});

test('what a reader has left is settled in its place after a while, once', () => {
  const { run, lease, settlements, client } = begin([HELLO]);
  client.abort();
  run.end();
  const { holdId, accountId } = TICKET;
  expect(settlements.map(({ read, delayMs }) => [read(), delayMs])).toEqual([
    [{ holdId, accountId, reason: 'client-left', usage: SO_FAR, upstream: 'test' }, undefined],
  ]);
  expect(lease.unsettled).toBeUndefined();
});

import { longOr } from '#testing/long-run.js';
import { makeTraces } from './random-traces.js';
import { replayTrace } from './replay-trace.js';
import { ReplayedMemory } from './replayed-memory.js';

test('the fold does what random traces of the model do', async () => {
  const { traces, reached } = makeTraces(longOr(30, 2_000));
  for (const trace of traces) await replayTrace(trace, (ledger) => new ReplayedMemory(ledger));
  expect([...reached].sort()).toEqual([
    'ask',
    'changePrice',
    'crashBilling',
    'crashGateway',
    'crashProxy',
    'deliver',
    'finish',
    'generate',
    'giveUp',
    'given back',
    'over the hold',
    'reaped',
    'reaped at a reading',
    'reaperRound',
    'refused',
    'sendRenewal',
    'settleForGateway',
    'settleOwnCount',
    'settled',
    'settled late',
    'startBilling',
    'tick',
    'tombstone',
    ...longOr([], ['written off']),
  ]);
});

import type { StreamEvent } from '#inference/stream-event.js';
import { testCases } from '#testing/long-run.js';
import { makeCall } from '../../test/conformance.js';
import { grammarFault } from '../../test/event-grammar.js';
import { CALL_WRITERS, repeatedCalls } from '../../test/repeated-calls.js';
import { foldEvents } from '../../test/upstream-writer.js';
import { ADAPTERS } from './adapters.js';
import type { UpstreamAdapter } from './upstream-adapter.js';

const TOOLS = ['run', 'read', 'agents__close'].map((name) => ({ key: { name }, wireName: name, kind: 'function' as const }));

describe.each(Object.keys(ADAPTERS) as UpstreamAdapter['kind'][])('%s', (kind) => {
  testCases(
    'calls that are split, repeated and summarised in any way are exactly the calls that were made',
    { usual: 500, long: 100_000 },
    repeatedCalls,
    ({ calls, pieces, identity }) => {
      const events = read(kind, CALL_WRITERS[kind](pieces, identity));
      expect(grammarFault(events, 'terminal')).toBeUndefined();
      const folded = foldEvents(events).calls.map(({ id, name, text }) => ({ id, name, arguments: JSON.parse(text) }));
      expect(folded).toEqual(calls);
    },
  );
});

function read(kind: UpstreamAdapter['kind'], payloads: readonly unknown[]): StreamEvent[] {
  const events: StreamEvent[] = [];
  const parser = ADAPTERS[kind].openStream(makeCall(true, { tools: TOOLS }));
  for (const payload of payloads) parser.push(JSON.stringify(payload), events);
  if (!parser.done) parser.end(events);
  return events;
}

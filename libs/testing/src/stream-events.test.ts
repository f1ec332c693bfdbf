import fc from 'fast-check';
import type { StreamEvent } from '#inference/stream-event.js';
import { inBatches, streamEvents } from './stream-events.js';

const everything = { customTools: true, namespaces: true };

test.each(['finish', 'failure'] as const)('every stream that ends with a %s is legal', (ending) => {
  fc.assert(
    fc.property(streamEvents({ ...everything, ending }), (events) => {
      expect(listFaults(events)).toEqual([]);
      expect(events.at(-1)?.type).toBe(`completion-${ending}`);
    }),
  );
});

test('batches join to the stream', () => {
  fc.assert(fc.property(inBatches(streamEvents(everything)), ({ events, batches }) => expect(batches.flat()).toEqual(events)));
});

test('generates every special case', () => {
  const streams = fc.sample(streamEvents(everything), { numRuns: 300, seed: 1 });
  const shapes = streams.map((events) => events.map((event) => event.type).join(' '));
  expect(shapes.some((shape) => /text-delta .*reasoning-delta/.test(shape))).toBe(true);
  expect(shapes.some((shape) => /tool-call-start .*text-delta .*tool-call-end/.test(shape))).toBe(true);
  expect(shapes.some((shape) => /tool-call-start( tool-call-delta)* tool-call-start/.test(shape))).toBe(true);
  expect(shapes.some((shape) => /^(upstream-start )?usage-report completion-finish$/.test(shape))).toBe(true);
  expect(streams.some((events) => events.some((event) => 'text' in event && !event.text.isWellFormed()))).toBe(true);
});

/** Violations of the grammar in `stream-event.ts`. */
function listFaults(events: readonly StreamEvent[]): string[] {
  const faults: string[] = [];
  const calls: { id: string; kind: string; text: string; open: boolean }[] = [];
  events.forEach((event, at) => {
    if (event.type === 'upstream-start' && at > 0) faults.push('a late start');
    if (event.type.startsWith('completion-') !== (at === events.length - 1)) faults.push('a terminal event not last, or none');
    if ('text' in event && event.text === '') faults.push('an empty delta');
    if (event.type === 'tool-call-start') {
      if (event.index !== calls.length) faults.push('an index out of order');
      if (calls.some((call) => call.id === event.callId)) faults.push('a repeated id');
      calls.push({ id: event.callId, kind: event.kind, text: '', open: true });
    } else if (event.type === 'tool-call-delta' || event.type === 'tool-call-end') {
      const call = calls[event.index];
      if (call === undefined || !call.open) faults.push('a piece of no open call');
      else if (event.type === 'tool-call-delta') call.text += event.text;
      else call.open = false;
    }
  });
  if (calls.some((call) => call.open)) faults.push('an open call');
  if (calls.some((call) => call.kind === 'function' && call.text === '')) faults.push('no arguments');
  if (events.at(-2)?.type !== 'usage-report') faults.push('no usage before the end');
  return faults;
}

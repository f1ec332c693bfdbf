import fc from 'fast-check';
import type { StreamEvent } from '#inference/stream-event.js';
import { inBatches, streamEvents } from '#testing/stream-events.js';
import { WholeCharacters } from './whole-characters.js';

const FINISH: StreamEvent = { type: 'completion-finish', reason: 'stop' };

function text(text: string): StreamEvent {
  return { type: 'text-delta', text };
}

function piece(index: number, text: string): StreamEvent {
  return { type: 'tool-call-delta', index, text };
}

function end(index: number): StreamEvent {
  return { type: 'tool-call-end', index };
}

function joined(...batches: StreamEvent[][]): StreamEvent[] {
  const characters = new WholeCharacters();
  return batches.flatMap((batch) => characters.join(batch));
}

test('a character cut in two is joined [T-45]', () => {
  expect(joined([text('a\ud83d')], [text('\ude42b'), text('c'), FINISH])).toEqual([text('a'), text('🙂b'), text('c'), FINISH]);
});

test.each<[string, StreamEvent[], StreamEvent[]]>([
  ['within', [text('a\ud83dx'), text('\ude42y')], [text('a\ufffdx'), text('\ufffdy')]],
  ['at the end', [text('a\ud83d'), FINISH], [text('a'), text('\ufffd'), FINISH]],
  ['before another half', [text('\ud83d'), text('\ud83d'), text('\ude42')], [text('\ufffd'), text('🙂')]],
  [
    'before text of another kind',
    [text('\ud83d'), { type: 'reasoning-delta', text: '\ude42' }],
    [text('\ufffd'), { type: 'reasoning-delta', text: '\ufffd' }],
  ],
  ['at the end of a call', [piece(0, '\ud83d'), end(0)], [piece(0, '\ufffd'), end(0)]],
])('a half that stays alone is replaced: %s [T-45]', (_name, events, expected) => {
  expect(joined(events)).toEqual(expected);
  expect(joined(...events.map((event) => [event]))).toEqual(expected);
});

test('interleaved calls keep their halves apart [T-45]', () => {
  expect(
    joined([piece(0, '"\ud83d'), piece(1, '"\ud83d')], [text('!'), piece(1, '\ude42"')], [piece(0, '\ude43"'), end(0), end(1)]),
  ).toEqual([piece(0, '"'), piece(1, '"'), text('!'), piece(1, '🙂"'), piece(0, '🙃"'), end(0), end(1)]);
});

test('a batch of whole characters is passed on unchanged', () => {
  const batch = [text('Grüße 🌍'), FINISH];
  expect(new WholeCharacters().join(batch)).toBe(batch);
});

test('every delta is well-formed and never empty, and whole characters stay unchanged [T-45]', () => {
  fc.assert(
    fc.property(inBatches(streamEvents({ customTools: true })), ({ events, batches }) => {
      const sent = joined(...batches);
      expect(sent).toEqual(joined(events));
      for (const event of sent) if ('text' in event) expect([event.text.isWellFormed(), event.text !== '']).toEqual([true, true]);
      const sumLengths = (all: StreamEvent[]) => all.reduce((length, event) => length + ('text' in event ? event.text.length : 0), 0);
      expect(sumLengths(sent)).toBe(sumLengths(events));
      if (events.every((event) => !('text' in event) || event.text.isWellFormed())) expect(sent).toEqual(events);
    }),
    { numRuns: 500 },
  );
});

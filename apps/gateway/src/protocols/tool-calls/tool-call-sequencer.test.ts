import type { ToolCallEvent } from './tool-call-sequencer.js';
import { ToolCallSequencer } from './tool-call-sequencer.js';

const start = (index: number): ToolCallEvent => ({
  type: 'tool-call-start',
  index,
  callId: `call_${index}`,
  tool: { name: 'f' },
  kind: 'function',
});
const delta = (index: number, text: string): ToolCallEvent => ({ type: 'tool-call-delta', index, text });
const end = (index: number): ToolCallEvent => ({ type: 'tool-call-end', index });

test('consecutive calls pass unchanged', () => {
  const sequencer = new ToolCallSequencer();
  const events = [start(0), delta(0, '{'), delta(0, '}'), end(0), start(1), delta(1, '{}'), end(1)];
  expect(events.map((event) => sequencer.next(event))).toEqual(events.map((event) => [event]));
});

test('interleaved calls are released in order, as early as possible [T-22]', () => {
  const sequencer = new ToolCallSequencer();
  const steps: [ToolCallEvent, ToolCallEvent[]][] = [
    [start(0), [start(0)]],
    [start(1), []],
    [start(2), []],
    [delta(1, 'b'), []],
    [delta(0, 'a'), [delta(0, 'a')]],
    [delta(2, 'c'), []],
    [end(2), []],
    [end(0), [end(0), start(1), delta(1, 'b')]],
    [delta(1, 'B'), [delta(1, 'B')]],
    [end(1), [end(1), start(2), delta(2, 'c'), end(2)]],
    [start(3), [start(3)]],
  ];
  for (const [event, released] of steps) expect(sequencer.next(event)).toEqual(released);
});

import { SentFrames } from './sent-frames.js';

function sent(count: number): SentFrames {
  const window = new SentFrames();
  for (let sequence = 1; sequence <= count; sequence++) window.add(`E${sequence}\n[]`, 5);
  return window;
}

test('returns the frames after a sequence that were not consumed', () => {
  const window = sent(5);
  expect(window.acknowledge(2)).toBe(true);
  expect({ sent: window.sent, count: window.count, bytes: window.bytes }).toEqual({ sent: 5, count: 3, bytes: 15 });
  expect(window.after(3).map(String)).toEqual(['E4\n[]', 'E5\n[]']);
});

test.each([
  ['consumed already', 1],
  ['the last one', 5],
  ['never sent', 6],
])('has nothing after a frame that was %s', (_name, sequence) => {
  const window = sent(5);
  window.acknowledge(2);
  expect(window.after(sequence)).toEqual([]);
});

test('does not acknowledge twice', () => {
  const window = sent(3);
  window.acknowledge(3);
  expect([window.acknowledge(3), window.acknowledge(1)]).toEqual([false, false]);
});

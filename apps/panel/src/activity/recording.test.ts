import { findGaps, gapsSince } from './recording.js';

const at = (seconds: number): Date => new Date(Date.UTC(2027, 0, 1) + seconds * 1_000);
const interval = (from: number, to: number) => ({ startsAt: at(from), endsAt: at(to) });
const gap = (from: number, to: number) => ({ from: at(from).toISOString(), to: at(to).toISOString() });

test.each([
  ['nothing was recorded', [], [gap(0, 1_000)]],
  ['all of it was recorded', [interval(-50, 1_000)], []],
  ['the last mark is due', [interval(-50, 985)], []],
  ['the panel is down', [interval(-50, 900)], [gap(900, 1_000)]],
  ['recording began later', [interval(100, 1_000)], [gap(0, 100)]],
  ['the panel was down', [interval(0, 300), interval(400, 1_000)], [gap(300, 400)]],
  ['another replica went on', [interval(0, 300), interval(200, 1_000)], []],
  ['a replica ran within the time of another', [interval(0, 1_000), interval(200, 300)], []],
])('%s', (_, intervals, gaps) => {
  expect(findGaps(intervals, at(0), at(1_000), at(1_000))).toEqual(gaps);
});

test('a time in the past ends with the last interval, however late its mark', () => {
  expect(findGaps([interval(0, 995)], at(0), at(1_000), at(50_000))).toEqual([gap(995, 1_000)]);
});

test.each([
  ['a start before them', at(-1), [gap(0, 10), gap(50, 60)]],
  ['a start within one', at(5), [gap(5, 10), gap(50, 60)]],
  ['a start at the end of one', at(10), [gap(50, 60)]],
  ['no known start', undefined, [gap(0, 10), gap(50, 60)]],
])('gaps begin at %s', (_, start, left) => {
  expect(gapsSince(start, [gap(0, 10), gap(50, 60)])).toEqual(left);
});

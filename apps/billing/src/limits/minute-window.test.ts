import fc from 'fast-check';
import {
  addToWindow,
  correctWindow,
  countWindow,
  isAhead,
  leftInWindow,
  type MinuteWindow,
  retryAfterSeconds,
  slideWindow,
} from './minute-window.js';

const START = 1_800_000_000_000;

/** Admits or refuses one request, as the reserve step does. */
function ask(window: MinuteWindow, limit: number, now: number): { window: MinuteWindow; retryAfter?: number } {
  const slid = slideWindow(window, now);
  if (countWindow(slid) < limit) return { window: addToWindow(slid, now, 1) };
  return { window: slid, retryAfter: retryAfterSeconds(slid, limit, now, 1) };
}

const traffic = fc.record({
  limit: fc.integer({ min: 1, max: 8 }),
  gaps: fc.array(
    fc.oneof(
      fc.constant(0),
      fc.integer({ min: 1, max: 1_500 }),
      fc.integer({ min: 1_000, max: 20_000 }),
      fc.integer({ min: 59_000, max: 62_000 }),
    ),
    { minLength: 1, maxLength: 120 },
  ),
});

test('the limit holds in any 60 s, and a refusal is never needless by a second or more [limit-requests-per-minute]', () => {
  fc.assert(
    fc.property(traffic, ({ limit, gaps }) => {
      const admitted: number[] = [];
      let window: MinuteWindow = [];
      let now = START;
      for (const gap of gaps) {
        now += gap;
        const answer = ask(window, limit, now);
        window = answer.window;
        const within = (milliseconds: number): number => admitted.filter((time) => time > now - milliseconds).length;
        if (answer.retryAfter === undefined) {
          admitted.push(now);
          expect(within(60_000)).toBeLessThanOrEqual(limit);
        } else expect(within(61_000)).toBeGreaterThanOrEqual(limit);
        expect(window.length).toBeLessThanOrEqual(61);
      }
    }),
    { numRuns: 3_000 },
  );
});

test('the requests of one second count until 60 s after the last of them', () => {
  const window = [0, 400, 900].reduce<MinuteWindow>((before, at) => addToWindow(before, START + at, 1), []);
  const countAt = (at: number): number => countWindow(slideWindow(window, START + at));
  expect([0, 60_000, 60_899, 60_900].map(countAt)).toEqual([3, 3, 3, 0]);
});

test('Retry-After is exact: refused a second before it, admitted at it', () => {
  fc.assert(
    fc.property(traffic, ({ limit, gaps }) => {
      let window: MinuteWindow = [];
      let now = START;
      for (const gap of gaps) {
        now += gap;
        const answer = ask(window, limit, now);
        window = answer.window;
        if (answer.retryAfter === undefined) continue;
        expect(answer.retryAfter).toBeGreaterThanOrEqual(1);
        expect(answer.retryAfter).toBeLessThanOrEqual(60);
        expect(ask(window, limit, now + answer.retryAfter * 1_000).retryAfter).toBeUndefined();
        if (answer.retryAfter > 1) expect(ask(window, limit, now + (answer.retryAfter - 1) * 1_000).retryAfter).toBe(1);
      }
    }),
    { numRuns: 3_000 },
  );
});

test('Retry-After of a limit lowered below the window is when enough requests have expired', () => {
  const window: MinuteWindow = [
    [START, 2],
    [START + 10_000, 2],
    [START + 30_000, 1],
  ];
  expect(retryAfterSeconds(window, 1, START + 40_000, 1)).toBe(50);
  expect(retryAfterSeconds(window, 2, START + 40_000, 1)).toBe(30);
  expect(retryAfterSeconds(window, 5, START + 40_000, 1)).toBe(20);
});

test('Retry-After of several tokens is when there is room for all of them', () => {
  const window: MinuteWindow = [
    [START, 20],
    [START + 10_000, 30],
    [START + 30_000, 40],
  ];
  const after = (count: number): number => retryAfterSeconds(window, 100, START + 40_000, count);
  expect([after(30), after(31), after(60), after(61), after(100)]).toEqual([20, 30, 30, 50, 50]);
});

test('a correction changes the second of the admission alone; a second that counts nothing leaves the window', () => {
  const window: MinuteWindow = [
    [START + 900, 20],
    [START + 1_000, 30],
  ];
  expect([
    correctWindow(window, START + 100, -5),
    correctWindow(window, START + 1_999, 5),
    correctWindow(window, START, -20),
    correctWindow(window, START - 1, -20),
    correctWindow(window, START + 2_000, 7),
  ]).toEqual([[[START + 900, 15], window[1]], [window[0], [START + 1_000, 35]], [window[1]], window, window]);
});

test('what is left of the limit, and when all of it is', () => {
  const window: MinuteWindow = [
    [START, 2],
    [START + 10_500, 1],
  ];
  const left = (limit: number, at: number): unknown => leftInWindow(slideWindow(window, START + at), limit, START + at);
  expect(left(5, 20_000)).toEqual({ limit: 5, remaining: 2, resetSeconds: 51 });
  expect(left(5, 60_000)).toEqual({ limit: 5, remaining: 4, resetSeconds: 11 });
  expect(left(5, 70_500)).toEqual({ limit: 5, remaining: 5, resetSeconds: 0 });
  expect(left(1, 20_000)).toEqual({ limit: 1, remaining: 0, resetSeconds: 51 }); // lowered below the window
});

test('requests from before the clock was set back count for 60 s more', () => {
  const full: MinuteWindow = [
    [START - 70_000, 1],
    [START - 5_000, 2],
    [START + 1_000, 3],
    [START + 3_600_000, 4],
  ];
  expect([isAhead(full, START), isAhead(full, START + 3_600_000)]).toEqual([true, false]);
  const rebased: MinuteWindow = [
    [START - 5_000, 2],
    [START, 7],
  ];
  expect(ask(full, 9, START)).toEqual({ window: rebased, retryAfter: 55 });
  expect(ask(rebased, 9, START + 55_000).window).toEqual([
    [START, 7],
    [START + 55_000, 1],
  ]);
  expect(ask(rebased, 9, START + 60_000).window).toEqual([[START + 60_000, 1]]);
});

test('a clock set to any time neither lets a project exceed its limit nor refuses it for more than a minute', () => {
  const steps = fc.array(fc.tuple(fc.nat(20_000), fc.oneof(fc.constant(0), fc.integer({ min: -4_000_000, max: 0 }))), { maxLength: 80 });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 8 }), steps, (limit, asks) => {
      const admitted: number[] = [];
      let window: MinuteWindow = [];
      let elapsed = 0;
      let clock = START;
      for (const [gap, set] of asks) {
        elapsed += gap;
        clock += gap + set;
        const answer = ask(window, limit, clock);
        window = answer.window;
        if (answer.retryAfter === undefined) admitted.push(elapsed);
        expect(admitted.filter((time) => time > elapsed - 60_000).length).toBeLessThanOrEqual(limit);
        expect(ask(window, limit, clock + 60_000).retryAfter).toBeUndefined();
        expect(window.length).toBeLessThanOrEqual(61);
      }
    }),
    { numRuns: 3_000 },
  );
});

import { nextRate, sustainedRate } from './search.mjs';

const BOUNDS = [5, 10, 25, 50, 100];
const point = (rate: number, ms: number, isSustained = true) => ({ rate, ms, isSustained });

test.each([
  ['no measurement', [], 10, undefined],
  ['all within', [point(100, 3), point(200, 9)], 10, 200],
  ['none within', [point(100, 30), point(200, 90)], 10, undefined],
  ['the bound itself is within', [point(100, 10), point(200, 11)], 10, 100],
  ['a clean change', [point(400, 50), point(100, 3), point(200, 9)], 10, 200],
  ['failed requests are beyond every bound', [point(100, 3), point(200, 3, false)], 10, 100],
  ['one stall at a low rate', [point(100, 80), point(200, 4), point(300, 6), point(400, 50)], 10, 300],
  ['one lucky measurement above', [point(100, 3), point(200, 30), point(300, 40), point(400, 4)], 10, 100],
  ['of two that fit alike, the lower', [point(100, 3), point(200, 30), point(300, 6)], 10, 100],
  ['a stall and as many within: not known to keep it', [point(100, 30), point(200, 6)], 10, undefined],
  ['the same rate twice', [point(100, 3), point(100, 3), point(100, 30), point(200, 40)], 10, 100],
])('the rate that keeps a bound: %s', (_, points, bound, expected) => {
  expect(sustainedRate(points, bound)).toBe(expected);
});

test('the search begins where it is told, then finds the ends, then halves the widest gap', () => {
  const options = { bounds: [10], first: 400, lowest: 50 };
  expect(nextRate([], options)).toBe(400);
  expect(nextRate([], { ...options, first: 3 })).toBe(50);
  expect(nextRate([point(400, 4)], options)).toBe(640);
  expect(nextRate([point(400, 40)], options)).toBe(200);
  expect(nextRate([point(60, 40)], options)).toBe(50);
  expect(nextRate([point(50, 40)], options)).toBeUndefined();
  expect(nextRate([point(400, 4), point(900, 40)], options)).toBeCloseTo(600);
  expect(nextRate([point(400, 4), point(420, 40)], options)).toBeUndefined();
  const twoBounds = { ...options, bounds: [10, 100] };
  expect(nextRate([point(100, 4), point(200, 40), point(800, 400)], twoBounds)).toBeCloseTo(400);
});

test.each([
  ['a queue', (rate: number) => 2 / (1 - Math.min(0.9999, rate / 1_500))],
  ['a cliff', (rate: number) => (rate < 900 ? 3 : 700)],
  ['slow from the start', () => 30],
  ['beyond all bounds', () => 300],
])('eight measurements find every bound of %s within a fifth', (_, latencyAt) => {
  const points: ReturnType<typeof point>[] = [];
  for (let step = 0; step < 8; step++) {
    const rate = nextRate(points, { bounds: BOUNDS, first: 700, lowest: 50 });
    if (rate === undefined) break;
    // The simulated target stands still at 1,600 a second, so the search ends upwards too.
    points.push(point(rate, latencyAt(rate), rate < 1_600));
  }
  for (const bound of BOUNDS) {
    const keeps = (rate: number) => rate < 1_600 && latencyAt(rate) <= bound;
    const truth = Array.from({ length: 1_600 }, (_, rate) => rate).findLast((rate) => rate >= 50 && keeps(rate));
    const found = sustainedRate(points, bound);
    expect(found === undefined).toBe(truth === undefined);
    expect((found ?? 1) / (truth ?? 1)).toBeGreaterThan(0.8);
    expect((found ?? 1) / (truth ?? 1)).toBeLessThanOrEqual(1.001);
  }
});

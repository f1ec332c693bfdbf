import { type Choosable, chooseRoute } from './choose-route.js';

const route = (over: Partial<Choosable> = {}): Choosable => ({ weight: 1, priority: 0, isUp: true, isFull: false, ...over });

test('weights decide among equals', () => {
  const routes = [route({ weight: 1 }), route({ weight: 3 }), route({ weight: 0 })];
  const share = [0, 0, 0];
  for (let i = 0; i < 400; i++) {
    const at = routes.indexOf(chooseRoute(routes, i / 400));
    share[at] = (share[at] ?? 0) + 1;
  }
  expect(share).toEqual([100, 300, 0]);
});

test('the lowest tier with a usable route is taken', () => {
  const [low, high] = [route({ priority: 1 }), route({ priority: 2 })];
  expect(chooseRoute([high, low], 0.99)).toBe(low);
  expect(chooseRoute([high, { ...low, isUp: false }], 0)).toBe(high);
  expect(chooseRoute([high, { ...low, isFull: true }], 0)).toBe(high);
});

test.each([
  ['there is none', [], 'model_unavailable'],
  ['all are down', [route({ isUp: false })], 'model_unavailable'],
  ['all have no weight', [route({ weight: 0 })], 'model_unavailable'],
  ['all are full', [route({ isFull: true })], 'model_capacity'],
  ['one is full and one down', [route({ isFull: true }), route({ isUp: false })], 'model_capacity'],
])('when %s', (_name, routes, code) => {
  expect(() => chooseRoute(routes, 0)).toThrow(expect.objectContaining({ code, retryAfterSeconds: expect.any(Number) }));
});

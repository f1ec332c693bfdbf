import { type ChoiceTerms, type Choosable, chooseRoute } from './choose-route.js';
import { hashOf } from './prompt-prefix.js';

interface FakeRoute extends Choosable {
  name: string;
}

let names = 0;

function route(
  over: Partial<Record<'weight' | 'latencyMs' | 'waitingMs', number>> &
    Partial<Omit<FakeRoute, 'weight' | 'latencyMs' | 'waitingMs' | 'availability'>> & {
      availability?: ReturnType<Choosable['availability']>;
    } = {},
): FakeRoute {
  const { weight = 1, latencyMs, waitingMs = 0, availability = 'ready', name = `route-${names++}`, ...rest } = over;
  return {
    name,
    hash: hashOf(name),
    priority: 0,
    inFlight: 0,
    availability: () => availability,
    weight: () => weight,
    latencyMs: () => latencyMs,
    usualMs: undefined,
    waitingMs: () => waitingMs,
    ...rest,
  };
}

function choose(routes: FakeRoute[], over: Partial<ChoiceTerms<FakeRoute>> = {}): FakeRoute | 'full' | 'down' {
  return chooseRoute(routes, { now: 0, accountId: 'account', prefixKey: () => 7, random: () => 0, tried: new Set(), ...over });
}

/** The share of each route, in percent, of 4,000 conversations. */
function shares(routes: FakeRoute[]): number[] {
  const counts = routes.map(() => 0);
  for (let key = 0; key < 4_000; key++) {
    const at = routes.indexOf(choose(routes, { prefixKey: () => hashOf(`${key}`), random: () => (key % 97) / 97 }) as FakeRoute);
    counts[at] = (counts[at] ?? 0) + 1;
  }
  return counts.map((count) => Math.round(count / 40));
}

const about = (percent: number): number => expect.closeTo(percent, -0.7) as unknown as number;

test('weights decide among equals, and a weight of 0 is never used', () => {
  expect(shares([route({ weight: 1 }), route({ weight: 3 }), route({ weight: 0 })])).toEqual([about(25), about(75), 0]);
});

test('one conversation stays on one route', () => {
  const routes = [route(), route(), route()];
  const taken = Array.from({ length: 20 }, (_, index) => choose(routes, { random: () => index / 20 }));
  expect(new Set(taken).size).toBe(1);
});

test('the preferred route may be twice as busy as another, and no more', () => {
  const [a, b] = [route({ name: 'a' }), route({ name: 'b' })];
  const preferred = choose([a, b]) as FakeRoute;
  const other = preferred === a ? b : a;
  const busy = (inFlight: number) => ({ ...preferred, inFlight });
  const idle = { ...other, inFlight: 10 };
  expect(choose([busy(21), idle])).toMatchObject({ name: preferred.name });
  expect(choose([busy(22), idle])).toBe(idle);
});

test('busy is in proportion to the weight', () => {
  const [light, heavy] = [route({ weight: 1, inFlight: 10 }), route({ weight: 3, inFlight: 30 })];
  expect(shares([light, heavy])).toEqual([about(25), about(75)]);
});

test('a route that answers more than twice as slowly gets nothing while another has room', () => {
  expect(shares([route({ latencyMs: 1_000 }), route({ latencyMs: 100 }), route({ latencyMs: 120 })])[0]).toBe(0);
  expect(shares([route({ latencyMs: 190 }), route({ latencyMs: 100 })])).toEqual([about(50), about(50)]);
});

test('a route nobody knows yet gets its share, not everything', () => {
  expect(shares([route({ latencyMs: 100 }), route(), route({ latencyMs: 100 })])).toEqual([about(33), about(33), about(33)]);
});

test('a route that does not answer loses its share while it is silent, whatever it was before', () => {
  expect(shares([route({ latencyMs: 100, waitingMs: 500 }), route({ latencyMs: 100 })])[0]).toBe(0);
  expect(shares([route({ waitingMs: 500 }), route({ latencyMs: 100 })])[0]).toBe(0);
  expect(shares([route({ waitingMs: 500 }), route({ latencyMs: 400 })])).toEqual([about(50), about(50)]);
  expect(shares([route({ waitingMs: 5_000 }), route()])[0]).toBe(0);
});

test('where nothing came lately, a wait is long or short by what is usual, and what is usual makes no route better than another', () => {
  expect(shares([route({ usualMs: 100, waitingMs: 300 }), route({ usualMs: 100 })])[0]).toBe(0);
  expect(shares([route({ usualMs: 60_000, waitingMs: 5_000 }), route({ usualMs: 60_000 })])).toEqual([about(50), about(50)]);
  expect(shares([route({ usualMs: 100 }), route({ usualMs: 9_000 }), route()])).toEqual([about(33), about(33), about(33)]);
});

test('the lowest tier with a usable route is taken', () => {
  const [low, high] = [route({ priority: 1 }), route({ priority: 2 })];
  expect(choose([high, low])).toBe(low);
  expect(choose([high, route({ priority: 1, availability: 'down' })])).toBe(high);
  expect(choose([high, route({ priority: 1, availability: 'full' })])).toBe(high);
  expect(choose([high, low], { tried: new Set([low]) })).toBe(high);
});

describe('a route that has rested', () => {
  const [ready, resting] = [route(), route({ availability: 'probe' })];

  test('gets the next request', () => {
    expect(choose([ready, resting])).toBe(resting);
    expect(choose([resting])).toBe(resting);
  });

  test('but not one that has failed elsewhere, if there is another route', () => {
    const failed = route();
    expect(choose([failed, ready, resting], { tried: new Set([failed]) })).toBe(ready);
    expect(choose([failed, resting], { tried: new Set([failed]) })).toBe(resting);
  });

  test('and not one that a lower tier can take', () => {
    expect(choose([route({ priority: 1, availability: 'probe' }), ready])).toBe(ready);
  });
});

test.each<[string, FakeRoute[], string]>([
  ['there is none', [], 'down'],
  ['the only one is down', [route({ availability: 'down' })], 'down'],
  ['the only one is full', [route({ availability: 'full' })], 'full'],
  ['all have no weight', [route({ weight: 0 }), route({ weight: 0 })], 'down'],
  ['one is full and one down', [route({ availability: 'full' }), route({ availability: 'down' })], 'full'],
])('when %s', (_name, routes, outcome) => {
  expect(choose(routes)).toBe(outcome);
});

test('what was tried does not count as full', () => {
  const full = route({ availability: 'full' });
  expect(choose([full, route({ availability: 'down' })], { tried: new Set([full]) })).toBe('down');
  expect(choose([full], { tried: new Set([full]) })).toBe('down');
});

import { chooseRoute, type RouteView } from './choose-route.js';
import { hashText } from './prompt-prefix.js';

let names = 0;

function route(over: Partial<RouteView> = {}): RouteView {
  return {
    hash: hashText(`route-${names++}`),
    priority: 0,
    weight: 1,
    inFlight: 0,
    latencyMs: undefined,
    waitingMs: 0,
    circuit: 'closed',
    hasRoom: true,
    ...over,
  };
}

function choose(routes: RouteView[], key = 7, random = 0): RouteView | 'full' | 'none' {
  const choice = chooseRoute(routes, key, () => random);
  return typeof choice === 'number' ? (routes[choice] as RouteView) : choice;
}

/** The share of each route, in percent, of 4,000 conversations. */
function shares(routes: RouteView[]): number[] {
  const counts = routes.map(() => 0);
  for (let conversation = 0; conversation < 4_000; conversation++) {
    const at = routes.indexOf(choose(routes, hashText(`${conversation}`), (conversation % 97) / 97) as RouteView);
    counts[at] = (counts[at] ?? 0) + 1;
  }
  return counts.map((count) => Math.round(count / 40));
}

const about = (percent: number): number => expect.closeTo(percent, -0.7) as unknown as number;

test('weights decide among equals', () => {
  expect(shares([route({ weight: 1 }), route({ weight: 3 })])).toEqual([about(25), about(75)]);
});

test('one conversation stays on one route', () => {
  const routes = [route(), route(), route()];
  const taken = Array.from({ length: 20 }, (_, index) => choose(routes, 7, index / 20));
  expect(new Set(taken).size).toBe(1);
});

test('the preferred route may be twice as busy as another, and no more', () => {
  const routes = [route(), route()];
  const preferred = routes.indexOf(choose(routes) as RouteView);
  const withCalls = (inFlight: number): RouteView[] => routes.map((one, at) => ({ ...one, inFlight: at === preferred ? inFlight : 10 }));
  const chosen = [21, 22].map((inFlight) => chooseRoute(withCalls(inFlight), 7, () => 0));
  expect(chosen).toEqual([preferred, 1 - preferred]);
});

test('busy is in proportion to the weight', () => {
  expect(shares([route({ weight: 1, inFlight: 10 }), route({ weight: 3, inFlight: 30 })])).toEqual([about(25), about(75)]);
});

test('a route that answers more than twice as slowly gets nothing while another has room', () => {
  expect(shares([route({ latencyMs: 1_000 }), route({ latencyMs: 100 }), route({ latencyMs: 120 })])[0]).toBe(0);
  expect(shares([route({ latencyMs: 190 }), route({ latencyMs: 100 })])).toEqual([about(50), about(50)]);
});

test('a route of unknown latency gets its share, not everything', () => {
  expect(shares([route({ latencyMs: 100 }), route(), route({ latencyMs: 100 })])).toEqual([about(33), about(33), about(33)]);
});

test('a route that does not answer loses its share while a stream waits, whatever its latency was', () => {
  expect(shares([route({ latencyMs: 100, waitingMs: 500 }), route({ latencyMs: 100 })])[0]).toBe(0);
  expect(shares([route({ waitingMs: 500 }), route({ latencyMs: 100 })])[0]).toBe(0);
  expect(shares([route({ waitingMs: 500 }), route({ latencyMs: 400 })])).toEqual([about(50), about(50)]);
  expect(shares([route({ waitingMs: 5_000 }), route()])[0]).toBe(0);
});

test('the lowest priority with a route that has room is taken', () => {
  const [low, high] = [route({ priority: 1 }), route({ priority: 2 })];
  expect(choose([high, low])).toBe(low);
  expect(choose([high, { ...low, circuit: 'open' }])).toBe(high);
  expect(choose([high, { ...low, hasRoom: false }])).toBe(high);
});

test('a route that is due a probe goes first, unless a lower priority can take the request', () => {
  const [ready, due] = [route(), route({ circuit: 'probe-due' })];
  expect(choose([ready, due])).toBe(due);
  expect(choose([{ ...due, priority: 1 }, ready])).toBe(ready);
});

test('panic mode: when all circuits are open, routes are chosen as if none was', () => {
  const open = (over: Partial<RouteView> = {}): RouteView => route({ circuit: 'open', ...over });
  expect(shares([open({ weight: 1 }), open({ weight: 3 })])).toEqual([about(25), about(75)]);
  const backup = open({ priority: 1 });
  expect(choose([open({ hasRoom: false }), backup])).toBe(backup);
});

test.each<[string, RouteView[], string]>([
  ['there is none', [], 'none'],
  ['the only one is full', [route({ hasRoom: false })], 'full'],
  ['one is full and the circuit of the other is open', [route({ hasRoom: false }), route({ circuit: 'open' })], 'full'],
  ['all circuits are open, and all routes full', [route({ circuit: 'open', hasRoom: false })], 'full'],
])('no route is chosen when %s', (_name, routes, outcome) => {
  expect(choose(routes)).toBe(outcome);
});

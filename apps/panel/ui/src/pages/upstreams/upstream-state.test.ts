import type { RouteState, UpstreamsReply } from '../../../../src/shapes/catalog.js';
import type { RouteRow } from './route-list.js';
import { collectRoutes, describeKey, listUnrouted, type UpstreamFacts, worstState } from './upstream-state.js';

const row = (state: RouteState, upstream = 'u', replica = 'r'): RouteRow => ({ replica, route: { state, upstream } as RouteRow['route'] });
const facts = (key: UpstreamFacts['key'], keyFault: string | null = null): UpstreamFacts => ({ key, keyFault }) as UpstreamFacts;

test('the routes of an upstream are those of every replica', () => {
  const reply = { replicas: ['a', 'b'].map((replica) => ({ replica, routes: [row('up', 'u').route, row('up', 'v').route] })) };
  expect(collectRoutes(reply as UpstreamsReply, ({ route }) => route.upstream === 'u')).toEqual([row('up', 'u', 'a'), row('up', 'u', 'b')]);
});

test('upstreams that no route leads to are listed', () => {
  const upstreams = ['u', 'v'].map((upstream) => ({ ...facts('none'), upstream }));
  expect([listUnrouted({ routes: [row('up', 'u').route], upstreams }), listUnrouted({ routes: [] })]).toEqual([['v'], []]);
});

test.each<[RouteState[], ReturnType<typeof worstState>]>([
  [[], undefined],
  [['up'], { state: 'up', note: 'its one route' }],
  [['up', 'up'], { state: 'up', note: 'all 2 routes' }],
  [['up', 'probing', 'up'], { state: 'probing', note: '1 of 3 routes' }],
  [['up', 'probing', 'down'], { state: 'down', note: '1 of 3 routes' }],
])('the state of routes that are %j', (states, worst) => {
  expect(worstState(states.map((state) => row(state)))).toEqual(worst);
});

test.each<[UpstreamFacts[], string]>([
  [[facts('none')], 'none is sent'],
  [[facts('usable'), facts('usable')], 'usable'],
  [[facts('missing', 'no key in UPSTREAM_KEY_A')], 'missing: no key in UPSTREAM_KEY_A'],
  [[facts('usable'), facts('missing', 'no key in UPSTREAM_KEY_A')], 'missing on 1 of 2 replicas: no key in UPSTREAM_KEY_A'],
  [[facts('missing')], 'missing'],
])('the key of %j', (of, words) => {
  expect(describeKey(of)).toBe(words);
});

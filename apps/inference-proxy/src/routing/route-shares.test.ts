import fc from 'fast-check';
import { testCases } from '#testing/long-run.js';
import { RouteShares, routeKey } from './route-shares.js';

const KEY = routeKey('m', 'a', 'theirs');
const CALLS = { model: 'm', upstream: 'a', upstreamModel: 'theirs' };

function replica(index: number, count: number, calls: number[] = []): RouteShares {
  const shares = new RouteShares();
  shares.set({ index, count, overShare: calls.map((over) => ({ ...CALLS, calls: over })) });
  return shares;
}

const replicas = (count: number): RouteShares[] => Array.from({ length: count }, (_, index) => replica(index, count));

test('a replica alone has the whole limit, and none before it has joined', () => {
  expect([new RouteShares().countPlaces(KEY, 7), replica(0, 1).countPlaces(KEY, 7), replica(0, 0).countPlaces(KEY, 7)]).toEqual([7, 7, 0]);
});

testCases(
  'the shares of a route sum to its limit and differ by one at most',
  { usual: 300, long: 30_000 },
  fc.record({ limit: fc.integer({ min: 1, max: 65_535 }), count: fc.integer({ min: 1, max: 40 }), upstream: fc.string() }),
  ({ limit, count, upstream }) => {
    const shares = replicas(count).map((one) => one.findShare(routeKey('m', upstream, 'theirs'), limit));
    expect(shares.reduce((sum, share) => sum + share)).toBe(limit);
    expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1);
  },
);

test('routes of one place each give it to different replicas', () => {
  const owners = Array.from({ length: 30 }, (_, route) =>
    replicas(3).findIndex((one) => one.findShare(routeKey('m', `${route}`, 'x'), 1) === 1),
  );
  expect([...new Set(owners)].sort()).toEqual([0, 1, 2]);
});

test('calls of others beyond their shares stay free, on their route alone', () => {
  const places = (calls: number[]) => replica(0, 3, calls).countPlaces(KEY, 12);
  expect([places([1]), places([1, 2]), places([9])]).toEqual([3, 1, 0]);
  expect(replica(0, 3, [1]).countPlaces(routeKey('another', 'a', 'theirs'), 12)).toBe(4);
});

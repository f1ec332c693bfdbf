import fc from 'fast-check';
import { FairShares } from './fair-shares.js';

/** Lets holders take places in turn until none is admitted. Returns their shares in percent of the capacity. */
function fill(holders: number, capacity: number): number[] {
  const shares = new FairShares();
  const taken = Array.from({ length: holders }, () => 0);
  for (let isMoving = true; isMoving; ) {
    isMoving = false;
    for (let holder = 0; holder < holders; holder++) {
      if (!shares.admits(`${holder}`, capacity)) continue;
      shares.add(`${holder}`, 1);
      taken[holder] = (taken[holder] ?? 0) + 1;
      isMoving = true;
    }
  }
  return taken.map((places) => Math.round((places / capacity) * 100));
}

test.each([
  [1, [80]],
  [2, [45, 44]],
  [3, [31, 31, 31]],
  [10, Array.from({ length: 10 }, () => 10)],
])('%i greedy holders get equal shares', (holders, percent) => {
  expect(fill(holders, 1_000)).toEqual(percent);
});

test.each([1, 2, 3, 4])('one holder may take all of %i places', (capacity) => {
  expect(fill(1, capacity)).toEqual([100]);
});

test('admits a new holder while a place is free, and none beyond the capacity', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 50 }), fc.array(fc.integer({ min: 0, max: 5 }), { maxLength: 200 }), (capacity, wishes) => {
      const shares = new FairShares();
      for (const wish of wishes) if (shares.admits(`${wish}`, capacity)) shares.add(`${wish}`, 1);
      expect(shares.inUse).toBeLessThanOrEqual(capacity);
      expect(shares.admits('new', capacity)).toBe(shares.inUse < capacity);
    }),
  );
});

test('returned places can be taken again', () => {
  const shares = new FairShares();
  shares.add('a', 4);
  expect([shares.admits('a', 5), shares.admits('b', 5)]).toEqual([false, true]);
  shares.add('a', -1);
  expect([shares.admits('a', 5), shares.inUse]).toEqual([true, 3]);
});

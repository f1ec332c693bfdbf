const FACTOR = 64;
const TRIES = 5;

/** Between what `growthOf` gives for linear work (1) and for quadratic work (64), far from both: collections cost more on a large heap. */
export const LINEAR_GROWTH_MAX = 8;

/**
 * How many times as long `work` takes at once as in 64 parts of this size, in processor time, so that neither the speed of the machine nor what
 * else it does counts; the best of some tries.
 */
export function growthOf(work: (size: number) => void, size: number): number {
  const inParts = leastTime(() => {
    for (let part = 0; part < FACTOR; part++) work(size);
  });
  return leastTime(() => work(size * FACTOR)) / inParts;
}

function leastTime(work: () => void): number {
  let least = Number.POSITIVE_INFINITY;
  for (let n = 0; n < TRIES; n++) {
    const begun = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(begun);
    least = Math.min(least, user + system);
  }
  return least;
}

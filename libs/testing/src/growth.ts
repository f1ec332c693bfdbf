const FACTOR = 8;
const TRIES = 5;

/** Between what `growthOf` gives for linear work (8) and for quadratic work (64), far from both: machines are busy. */
export const LINEAR_GROWTH_MAX = 24;

/**
 * How many times as long `work` takes for eight times the size, in processor time, so that neither the speed of the machine nor what else it
 * does counts; the best of some tries. `size` should be worth some milliseconds where the work is as it should be.
 */
export function growthOf(work: (size: number) => void, size: number): number {
  work(size); // compiled before it counts
  const small = leastTime(() => work(size));
  return leastTime(() => work(size * FACTOR)) / small;
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

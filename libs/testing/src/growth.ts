const FACTOR = 64;
const TRIES = 5;

/** Between what `growthOf` gives for linear work (1) and for quadratic work (64), far from both: collections cost more on a large heap. */
export const LINEAR_GROWTH_MAX = 8;

/**
 * How many times as long `work` takes at once as in 64 parts of this size, in processor time, so that neither the speed of the machine nor what
 * else it does counts; the best of some tries.
 */
export async function growthOf(work: (size: number) => unknown, size: number): Promise<number> {
  const inParts = await processorTime(async () => {
    for (let part = 0; part < FACTOR; part++) await work(size);
  });
  return (await processorTime(() => work(size * FACTOR))) / inParts;
}

/** Microseconds of processor time that `work` takes; the best of some tries. */
export async function processorTime(work: () => unknown): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let n = 0; n < TRIES; n++) {
    const begun = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(begun);
    least = Math.min(least, user + system);
  }
  return least;
}

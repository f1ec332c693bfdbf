const FACTOR = 64;
const TRIES = 5;

/** Between the growth of linear work (1) and of quadratic work (64), with room for garbage collections. */
export const LINEAR_GROWTH_MAX = 8;

/** Ratio of the processor time of one work of 64 times `size` to 64 works of `size`; the least of several tries. */
export async function growthOf(work: (size: number) => unknown, size: number): Promise<number> {
  const inParts = await processorTime(async () => {
    for (let part = 0; part < FACTOR; part++) await work(size);
  });
  return (await processorTime(() => work(size * FACTOR))) / inParts;
}

/** Microseconds of processor time of `work`; the least of several tries. */
async function processorTime(work: () => unknown): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let n = 0; n < TRIES; n++) {
    const begun = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(begun);
    least = Math.min(least, user + system);
  }
  return least;
}

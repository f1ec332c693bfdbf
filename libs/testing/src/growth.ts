const FACTOR = 64;
const TRIES = 5;

/** Between the growth of linear work (1) and of quadratic work (64), with room for garbage collections and slower caches. */
export const LINEAR_GROWTH_MAX = 16;

/** Ratio of the user time of one work of 64 times `size` to 64 works of `size`; the least of several tries. */
export async function measureGrowth(work: (size: number) => unknown, size: number): Promise<number> {
  const inParts = await userTime(async () => {
    for (let part = 0; part < FACTOR; part++) await work(size);
  });
  return (await userTime(() => work(size * FACTOR))) / inParts;
}

/** Microseconds of user time of `work`; the least of several tries. A page fault, which is system time, takes longer on some machines. */
async function userTime(work: () => unknown): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let n = 0; n < TRIES; n++) {
    const begun = process.cpuUsage();
    await work();
    least = Math.min(least, process.cpuUsage(begun).user);
  }
  return least;
}

/**
 * Processor time of the longest turn of the event loop while `work` runs, in milliseconds. Time in which other programs or threads have the
 * processor does not count, so a busy machine does not change it.
 */
export async function longestTurnMs(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let last = cpuMs();
  let isOver = false;
  const look = (): void => {
    const now = cpuMs();
    longest = Math.max(longest, now - last);
    last = now;
    if (!isOver) setImmediate(look);
  };
  setImmediate(look);
  await work();
  isOver = true;
  look();
  return longest;
}

/** Processor time that `work` takes on this thread, in milliseconds. */
export function cpuMsOf(work: () => unknown): number {
  const before = cpuMs();
  work();
  return cpuMs() - before;
}

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

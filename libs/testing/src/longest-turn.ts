/** Milliseconds of user time of the longest turn of the event loop during `work`. Other programs and threads do not count. */
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

/** Milliseconds of user time of `work` on this thread. */
export function measureCpuMs(work: () => unknown): number {
  const before = cpuMs();
  work();
  return cpuMs() - before;
}

/** Without the time of the system: a page fault takes many times as long on one machine as on another. */
function cpuMs(): number {
  return process.threadCpuUsage().user / 1000;
}

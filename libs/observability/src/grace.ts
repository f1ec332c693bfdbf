/** Waits for `work` for up to `limitMs`, and ignores its failure. */
export async function within(limitMs: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limitMs);
  });
  await Promise.race([work.catch(() => undefined), limit]);
  clearTimeout(timer);
}

/** Starts a deadline. The returned function waits for work until the deadline, and ignores its failure. */
export function beginGrace(milliseconds: number): (work: Promise<unknown>) => Promise<void> {
  const end = performance.now() + milliseconds;
  return (work) => within(end - performance.now(), work);
}

/**
 * Begins a grace of so many milliseconds, and returns how to wait within it: for `work`, but no longer than what is left of the grace. What
 * fails, or is not done by then, is left.
 */
export function beginGrace(milliseconds: number): (work: Promise<unknown>) => Promise<void> {
  const end = performance.now() + milliseconds;
  return async (work) => {
    let timer: NodeJS.Timeout | undefined;
    const over = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, end - performance.now());
    });
    await Promise.race([work.catch(() => undefined), over]);
    clearTimeout(timer);
  };
}

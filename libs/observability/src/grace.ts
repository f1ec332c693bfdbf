/** Starts a deadline. The returned function waits for work until the deadline, and ignores its failure. */
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

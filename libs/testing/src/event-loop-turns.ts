/** Turns of the event loop that other work had until `work` was done. */
export async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  const count = (): void => {
    turns++;
    immediate = setImmediate(count);
  };
  let immediate = setImmediate(count);
  await work().finally(() => clearImmediate(immediate));
  return turns;
}

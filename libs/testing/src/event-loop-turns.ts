/** Number of turns of the event loop that other work gets during `work`. */
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

/** Returns the least of up to five measurements in milliseconds, so that a busy machine does not fail a time limit. Stops below `boundMs`. */
export async function leastMs(boundMs: number, measure: () => Promise<number>): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < 5 && least >= boundMs; attempt++) least = Math.min(least, await measure());
  return least;
}

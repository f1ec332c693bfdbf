/**
 * The least of up to three measurements, in milliseconds; no more are made once one is below `boundMs`. A bound on time that we
 * promise is one on what we do: a machine that is busy with something else may spoil a measurement, but hardly three in a row.
 */
export async function leastMs(boundMs: number, measure: () => Promise<number>): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < 3 && least >= boundMs; attempt++) least = Math.min(least, await measure());
  return least;
}

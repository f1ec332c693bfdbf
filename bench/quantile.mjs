/**
 * The value below which `share` of the values lie: the nearest rank, so a value that was measured. 0 without values.
 *
 * @param {ArrayLike<number>} sorted in ascending order @param {number} share from 0 to 1
 */
export function quantile(sorted, share) {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
}

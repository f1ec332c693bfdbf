import type { Percentiles } from '../shapes/overview.js';

/** Each bucket ends 10 % above its start, so its middle is less than 5 % from any value in it. */
const GROWTH = 1.1;
/** Above a day, beyond which nothing is distinguished. */
const BUCKET_MAX = 200;

/** Returns the bucket of a number of milliseconds. Bucket 0 is below a millisecond. */
export function findBucket(ms: number): number {
  return ms < 1 ? 0 : Math.min(1 + Math.floor(Math.log(ms) / Math.log(GROWTH)), BUCKET_MAX);
}

/** Returns the percentiles and the mean of requests by bucket; null when there are none. */
export function computePercentiles(requests: ReadonlyMap<number, number>): Percentiles | null {
  const buckets = [...requests].sort(([one], [other]) => one - other);
  const total = buckets.reduce((sum, [, count]) => sum + count, 0);
  if (total === 0) return null;
  const percentile = (share: number): number => {
    let left = Math.ceil(total * share);
    const bucket = buckets.find(([, count]) => {
      left -= count;
      return left <= 0;
    });
    return findMiddle(bucket?.[0] ?? 0);
  };
  const sum = buckets.reduce((ms, [bucket, count]) => ms + findMiddle(bucket) * count, 0);
  return { p50: percentile(0.5), p95: percentile(0.95), p99: percentile(0.99), mean: toMicroseconds(sum / total) };
}

/** To the microsecond: a coarser rounding could be 5 % of a millisecond off. */
function findMiddle(bucket: number): number {
  return bucket === 0 ? 0 : toMicroseconds(GROWTH ** (bucket - 0.5));
}

function toMicroseconds(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}

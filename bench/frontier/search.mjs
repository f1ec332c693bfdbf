/**
 * The search for the highest rate that keeps a bound of latency. All bounds share their measurements: each one tells something about all.
 *
 * `ms` is the latency that is bounded; `isSustained` is false where the target failed requests or fell behind the schedule.
 *
 * @typedef {{ rate: number, ms: number, isSustained: boolean }} Point
 */

/** The search of a bound ends when the rate is known as exactly as this. */
const RESOLUTION = 1.06;
const UP = 1.6;
const DOWN = 0.5;

/** @param {Point} point @param {number} bound */
const keeps = ({ ms, isSustained }, bound) => isSustained && ms <= bound;

/**
 * The rate that a target sustains within the bound: the measured rate that separates those that keep the bound from those that do not, with
 * the fewest measurements on the wrong side; the lower one of two. So a single stall at a low rate does not decide. Undefined when no rate does.
 *
 * @param {Point[]} points @param {number} bound @returns {number | undefined}
 */
export function sustainedRate(points, bound) {
  const wrongAt = (/** @type {number} */ rate) => points.filter((point) => keeps(point, bound) !== point.rate <= rate).length;
  let best = { rate: /** @type {number | undefined} */ (undefined), wrong: wrongAt(0) };
  for (const { rate } of points.filter((point) => keeps(point, bound)).sort((one, other) => one.rate - other.rate)) {
    const wrong = wrongAt(rate);
    if (wrong < best.wrong) best = { rate, wrong };
  }
  return best.rate;
}

/**
 * The rate to measure next; undefined when the rate of every bound is known. First the ends are found, upwards and downwards, then the
 * widest gap between a rate that keeps its bound and the next one that does not is halved.
 *
 * @param {Point[]} points @param {{ bounds: number[], first: number, lowest: number }} options `first` is where to begin, `lowest` the
 *   rate below which too few requests make a percentile
 * @returns {number | undefined}
 */
export function nextRate(points, { bounds, first, lowest }) {
  if (points.length === 0) return Math.max(first, lowest);
  /** @type {{ rate: number, gap: number }[]} */
  const wishes = [];
  for (const bound of bounds) {
    const low = sustainedRate(points, bound);
    const above = points.map(({ rate }) => rate).filter((rate) => low === undefined || rate > low);
    const high = Math.min(...above);
    if (low === undefined) {
      if (high > lowest) wishes.push({ rate: Math.max(lowest, high * DOWN), gap: Number.POSITIVE_INFINITY });
    } else if (above.length === 0) wishes.push({ rate: low * UP, gap: Number.POSITIVE_INFINITY });
    else if (high / low > RESOLUTION) wishes.push({ rate: Math.sqrt(high * low), gap: high / low });
  }
  return wishes.sort((one, other) => other.gap - one.gap)[0]?.rate;
}

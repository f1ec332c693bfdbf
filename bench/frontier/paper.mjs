/** Scale on paper: sums from measured parts. Nothing here was measured at the size that it speaks of. */

/** A row of the journal with its indexes (docs/scale.md). */
const JOURNAL_BYTES = 475;
const SECONDS_OF_MONTH = 30 * 86_400;
/** Processes that every replica has; the others are shared by all replicas. */
const SHARED = ['postgres', 'nats'];

/**
 * Prices in dollars, and how much of a core is planned for. The reader replaces them.
 *
 * @typedef {{ coreHour: number, gbHour: number, diskGbMonth: number, journalMonths: number, utilization: number }} Prices
 */

/**
 * Dollars of a million requests: processor time, the memory that is held meanwhile, and the disk of the journal.
 *
 * @param {{ cpuMs: Record<string, number>, memoryGb: number, rate: number }} measured CPU milliseconds of a request by process; `rate` is
 *   the requests a second that the memory serves at full load @param {Prices} prices
 */
export function priceMillion({ cpuMs, memoryGb, rate }, { coreHour, gbHour, diskGbMonth, journalMonths, utilization }) {
  const cpuSeconds = sum(cpuMs) * 1_000;
  const hours = 1_000_000 / (rate * utilization) / 3_600;
  const parts = {
    processor: (cpuSeconds / 3_600 / utilization) * coreHour,
    memory: memoryGb * hours * gbHour,
    journal: ((JOURNAL_BYTES * 1_000_000) / 1e9) * journalMonths * diskGbMonth,
  };
  return { cpuSeconds, ...parts, usd: sum(parts) };
}

/**
 * The load that `replicas` of each service carry: the service with the most processor time a request fills its core first. Postgres and NATS
 * are shared; `postgresCores` and `natsCores` is what they need for it, and `shards` how many Postgres servers of `shardCores` cores that is.
 *
 * @param {Record<string, number>} cpuMs by process
 * @param {{ replicas: number, utilization: number, shardCores: number }} options
 */
export function planReplicas(cpuMs, { replicas, utilization, shardCores }) {
  const services = Object.entries(cpuMs).filter(([name]) => !SHARED.includes(name));
  const [first, ms] = services.reduce((most, one) => (one[1] > most[1] ? one : most), ['', 0]);
  const requestsPerSecond = (replicas * utilization * 1_000) / ms;
  const cores = (/** @type {string} */ name) => (requestsPerSecond * (cpuMs[name] ?? 0)) / 1_000 / utilization;
  return {
    replicas,
    requestsPerSecond,
    first,
    postgresCores: cores('postgres'),
    natsCores: cores('nats'),
    shards: Math.ceil(cores('postgres') / shardCores),
    journalTbMonth: (requestsPerSecond * JOURNAL_BYTES * SECONDS_OF_MONTH) / 1e12,
  };
}

/** @param {Record<string, number>} parts */
function sum(parts) {
  return Object.values(parts).reduce((all, part) => all + part, 0);
}

import { longOr } from '#testing/long-run.js';
import { CrashMatrix } from './crash-matrix.js';
import { runWorld } from './world.js';

/** More of them with `SIMULATION_SEEDS=5000 npm run test:long -- simulation`: a million requests in an hour or more. */
const SEEDS = Number(process.env.SIMULATION_SEEDS ?? longOr(20, 1_000));
const FIRST_SEED = Number(process.env.SIMULATION_SEED ?? 1);
const REQUESTS = 200;
const HITS_MIN = longOr(1, 100);

test('under any death at any time, every hold ends once, and no request pays for more than was received [price-under-faults]', async () => {
  const matrix = new CrashMatrix();
  const totals: Record<string, number> = {};
  for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
    const { violations, outcomes } = await runWorld(seed, REQUESTS, matrix);
    expect({ seed, violations }).toEqual({ seed, violations: [] });
    for (const [outcome, count] of Object.entries(outcomes)) totals[outcome] = (totals[outcome] ?? 0) + count;
  }
  process.stderr.write(`${SEEDS * REQUESTS} requests: ${JSON.stringify(totals)}\n${matrix.total} faults\n${matrix}\n`);
  // None is settled late: the network is there for all or for nobody, so a process that goes on keeps its lease.
  expect(totals['quoted, reaped']).toBeGreaterThan(0);
  expect(matrix.least).toBeGreaterThanOrEqual(HITS_MIN);
  // A service ends its crawls in each way, reaches both ceilings, and dies with open holds.
  const crawls = [
    'settle',
    'release',
    'nothing',
    'killed with a hold',
    'refused service_ceiling day',
    'refused service_ceiling open-holds',
  ];
  for (const outcome of crawls) expect([outcome, (totals[`crawl ${outcome}`] ?? 0) > HITS_MIN]).toEqual([outcome, true]);
  // Budgets and keys that end have refused requests.
  expect(totals['refused insufficient_balance']).toBeGreaterThan(HITS_MIN);
  expect(totals['refused invalid_api_key']).toBeGreaterThan(HITS_MIN);
});

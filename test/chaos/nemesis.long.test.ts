import { Nemesis } from './nemesis.js';

/** Set another seed with `NEMESIS_SEED=7 NEMESIS_KILLS=30 npm run test:long -- nemesis`. */
const SEED = Number(process.env.NEMESIS_SEED ?? 20_261_121);
const KILLS = Number(process.env.NEMESIS_KILLS ?? 300);

test(`${KILLS} kills, with freezes and cuts: every bill is exact and no hold outlives its lease`, async () => {
  const nemesis = await Nemesis.start({
    seed: SEED,
    kills: KILLS,
    clients: 24,
    killsAtOnce: [4, 7],
    othersAtOnce: [1, 3],
    trafficMs: 4_500,
    outageMs: [2_600, 7_000],
  });
  try {
    const { violations, ...counts } = await nemesis.run();
    process.stderr.write(`${JSON.stringify(counts, null, 2)}\n`);
    expect(violations).toEqual([]);
    expect(counts.kills).toBe(KILLS);
    expect(counts.outcomes.completed).toBeGreaterThan(KILLS);
  } finally {
    await nemesis.stop();
  }
}, 3_600_000);

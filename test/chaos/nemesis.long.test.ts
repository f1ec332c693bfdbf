import { LAYOUTS } from '#testing/stack.js';
import { Nemesis } from './nemesis.js';

/** Set another seed with `NEMESIS_SEED=7 NEMESIS_KILLS=30 npm run test:long -- nemesis`. */
const SEED = Number(process.env.NEMESIS_SEED ?? 20_261_121);
const KILLS = Number(process.env.NEMESIS_KILLS ?? 300);
/** Kills in each round. Fewer where a kill takes all services of a replica: the other must survive in some rounds. */
const KILLS_AT_ONCE = { split: [4, 7], all: [2, 4] } as const;

test.each(LAYOUTS)(
  `%s: ${KILLS} kills, with freezes and cuts: every bill is exact and no hold outlives its lease`,
  async (layout) => {
    const nemesis = await Nemesis.start(layout, {
      seed: SEED,
      kills: KILLS,
      clients: 24,
      killsAtOnce: KILLS_AT_ONCE[layout],
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
  },
  3_600_000,
);

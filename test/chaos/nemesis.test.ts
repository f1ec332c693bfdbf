import { Nemesis } from './nemesis.js';

/** Billing.md 5, "nemesis", in half a minute; nemesis.long.test.ts is the same for as long as it takes. */
test('whatever is killed, frozen or cut off while clients use it: nobody pays for what was not delivered, and no hold is left', async () => {
  const nemesis = await Nemesis.start({
    seed: 1,
    kills: 6,
    clients: 24,
    killsAtOnce: [3, 3],
    othersAtOnce: [2, 2],
    trafficMs: 4_500,
    outageMs: [2_600, 4_000],
  });
  try {
    const report = await nemesis.run();
    process.stderr.write(`${JSON.stringify(report.blows)}\n${JSON.stringify(report.reasons)}, ${report.settledLate} settled late\n`);
    expect(report.faults).toEqual([]);
    expect(report.outcomes.completed).toBeGreaterThan(25);
  } finally {
    await nemesis.stop();
  }
});

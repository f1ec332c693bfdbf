import { Nemesis } from './nemesis.js';

/** Takes half a minute; nemesis.long.test.ts runs hundreds of kills, in both layouts. */
test('under kills, freezes and cuts, every request pays for what was delivered, and no hold is left [price-under-faults]', async () => {
  const nemesis = await Nemesis.start('all', {
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
    process.stderr.write(
      `${JSON.stringify(report.injected)}\n${JSON.stringify(report.reasons)}, ${report.settledLate} settled late, quoted ${JSON.stringify(report.quoted)}, crawls ${JSON.stringify(report.crawls)}, ${report.delegated} of child keys\n`,
    );
    expect(report.violations).toEqual([]);
    // The system served between the faults; how often depends on the machine.
    expect(report.outcomes.completed).toBeGreaterThan(5);
  } finally {
    await nemesis.stop();
  }
});

import type { PgConnection } from '#database/pg-connection.js';
import { DatabaseClock } from './database-clock.js';

const HOUR_MS = 3_600_000;

/** Simulates a database clock that is `ahead` of ours. */
function makeClock(ahead: { ms: number }): () => Promise<boolean> {
  const query = async () => ({ rows: [{ now: performance.now() + ahead.ms }] });
  const clock = new DatabaseClock();
  return () => clock.wasSet({ query } as unknown as PgConnection);
}

test.each([
  ['an hour back', -HOUR_MS],
  ['an hour forward', HOUR_MS],
])('a clock that is set %s is noticed once', async (_, ms) => {
  const ahead = { ms: 1_700_000_000_000 };
  const wasSet = makeClock(ahead);
  const seen = [await wasSet(), await wasSet()];
  ahead.ms += ms;
  expect([...seen, await wasSet(), await wasSet()]).toEqual([false, false, true, false]);
});

test('a clock that is corrected by less than a second each time was not set', async () => {
  const ahead = { ms: 0 };
  const wasSet = makeClock(ahead);
  const seen: boolean[] = [];
  for (let count = 0; count < 5; count++) {
    seen.push(await wasSet());
    ahead.ms -= 900;
  }
  expect(seen).toEqual([false, false, false, false, false]);
});

import { EventEmitter, once } from 'node:events';
import { createLogger } from '#observability/logger.js';
import { PriceTimer } from './price-timer.js';

const HOUR_MS = 3_600_000;

/** A timer whose runs the test counts, with the milliseconds until the next price after each run. */
function make(waits: (number | null | Error)[], pollMs = HOUR_MS) {
  const runs = new EventEmitter();
  let count = 0;
  const applyDuePrices = async (): Promise<void> => {
    count++;
    runs.emit('run');
    const wait = waits[count - 1];
    if (wait instanceof Error) throw wait;
  };
  const msUntilNext = async (): Promise<number | null> => (waits[count - 1] as number | null | undefined) ?? null;
  const timer = new PriceTimer({ applyDuePrices }, { msUntilNext }, pollMs, createLogger('test', 'silent'));
  return { timer, run: () => once(runs, 'run'), runs: () => count };
}

test('it applies what is due at once, and again when the next price is due', async () => {
  const { timer, run, runs } = make([5, null]);
  const [first, second] = [run(), run().then(run)];
  timer.wake();
  await first;
  await second;
  await timer.stop();
  expect(runs()).toBe(2);
});

test('a price that another replica has scheduled is found by looking every so often', async () => {
  const { timer, run } = make([null, null], 5);
  const twice = run().then(run);
  timer.wake();
  await twice;
  await timer.stop();
});

test('a newly scheduled price replaces the time of the next run', async () => {
  const { timer, run } = make([HOUR_MS, null]);
  const first = run();
  timer.wake();
  await first;
  const second = run();
  timer.wake();
  await second;
  await timer.stop();
});

test('it goes on after a failure of the database', async () => {
  const { timer, run } = make([new Error('connection refused'), null]);
  const twice = run().then(run);
  timer.wake();
  await twice;
  await timer.stop();
});

test('a stopped timer applies nothing', async () => {
  const { timer, run, runs } = make([1]);
  const first = run();
  timer.wake();
  await first;
  await timer.stop();
  timer.wake();
  await timer.stop();
  expect(runs()).toBe(1);
});

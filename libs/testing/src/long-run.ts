import { appendFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import fc from 'fast-check';

/** Set by `npm run test:long`: the file where it is noted how many cases were tried. */
const TALLY = process.env.TEST_LONG;
const PROGRESS_MS = 10_000;
/** What is worth a case costs microseconds: a second of processor time is a loop that should not be there. */
const CASE_CPU_MS_MAX = 1_000;

/**
 * `usual` in `npm test`, which has seconds; `long` in `npm run test:long`, which has all night. Every test that uses this module,
 * directly or not, is part of the long run. A suite for the long run alone is called `*.long.test.ts`.
 */
export function longOr<Value>(usual: Value, long: Value): Value {
  return TALLY ? long : usual;
}

interface CaseCounts {
  usual: number;
  long: number;
}

/**
 * A test that `check` holds for arbitrary cases, and that none of them takes a second of the processor's time. A failure shows
 * the smallest case that was found, and the seed to repeat it with.
 */
export function testCases<Case>(
  title: string,
  counts: CaseCounts,
  cases: fc.Arbitrary<Case>,
  check: (value: Case) => void | Promise<void>,
): void {
  const count = longOr(counts.usual, counts.long);
  test(title, async () => {
    const progress = new Progress(expect.getState().currentTestName ?? title, count);
    const property = fc.asyncProperty(cases, async (value) => {
      const begun = process.threadCpuUsage();
      await check(value);
      const { user, system } = process.threadCpuUsage(begun);
      if (user + system > CASE_CPU_MS_MAX * 1_000) throw new Error(`The case took ${(user + system) / 1_000} ms of processor time.`);
      progress.add();
    });
    await fc.assert(property, { numRuns: count });
    progress.end();
  });
}

/** Says now and then how far a long run has come, and at its end notes how many cases there were. */
class Progress {
  private readonly begunAt = performance.now();
  private spokenAt = this.begunAt;
  private done = 0;

  constructor(
    private readonly name: string,
    private readonly count: number,
  ) {}

  add(): void {
    this.done++;
    if (TALLY && performance.now() - this.spokenAt > PROGRESS_MS) this.say();
  }

  end(): void {
    if (!TALLY) return;
    this.say();
    appendFileSync(TALLY, `${JSON.stringify({ name: this.name, cases: this.done })}\n`);
  }

  private say(): void {
    this.spokenAt = performance.now();
    const seconds = Math.round((this.spokenAt - this.begunAt) / 1_000);
    process.stderr.write(`   ${this.name}: ${this.done.toLocaleString('en')} of ${this.count.toLocaleString('en')} cases, ${seconds} s\n`);
  }
}

import { appendFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import fc from 'fast-check';

/** File for the numbers of tried cases; set by `npm run test:long`. */
const TALLY = process.env.TEST_LONG;
const PROGRESS_MS = 10_000;
/** A case takes microseconds; a second of processor time is an endless loop. */
const CASE_CPU_MS_MAX = 1_000;

/**
 * Returns `usual` in `npm test`, and `long` in `npm run test:long`. Every test that imports this module, directly or not, is part of the
 * long run. Suites of the long run alone are named `*.long.test.ts`.
 */
export function longOr<Value>(usual: Value, long: Value): Value {
  return TALLY ? long : usual;
}

interface CaseCounts {
  usual: number;
  long: number;
}

/**
 * Defines a property test: `check` passes for arbitrary cases, and takes less than a second of processor time. A failure shows the
 * smallest failing case and its seed.
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

/** Prints the progress of a long run, and appends its number of cases to `TALLY`. */
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

/** Of a log often the end is all that is kept: this many lines of it belong to what failed. */
const SHOWN_MAX = 15;

/** Counts checks and test cases, and has the last word. */
export class Score {
  passed = 0;
  failed = 0;
  #failures = [];

  /** `failures` name what failed in a suite: `{ file, title, error }` each. */
  add(suite, { passed, failed, failures = [] }) {
    this.passed += passed;
    this.failed += failed;
    this.#failures.push(...failures.map((failure) => ({ suite, ...failure })));
    if (failures.length < failed) this.#failures.push({ suite });
  }

  /** Writes what failed and the last line, which is alone, and returns the exit code. Nothing having passed is no success. */
  close() {
    if (this.#failures.length > 0) process.stdout.write(`${this.#describeFailures()}\n`);
    process.stdout.write(`${this.passed} passed, ${this.failed} failed\n`);
    return this.failed > 0 || this.passed === 0 ? 1 : 0;
  }

  #describeFailures() {
    const shown = this.#failures.slice(0, SHOWN_MAX).flatMap(({ suite, file, title, error }) => {
      if (file === undefined) return [`  ${suite}`];
      return [`  ${suite}: ${file}: ${title}`, `    ${error}`];
    });
    const more = this.#failures.length - SHOWN_MAX;
    return ['failed:', ...shown, ...(more > 0 ? [`  and ${more} more`] : [])].join('\n');
  }
}

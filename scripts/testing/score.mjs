/** Failures shown at the end of the output; often only the end of a log is kept. */
const SHOWN_MAX = 15;

/** Counts checks and test cases, and prints the result. */
export class Score {
  passed = 0;
  failed = 0;
  #failures = [];

  /** `failures`: `{ file, title, error }` of each failed case. */
  add(suite, { passed, failed, failures = [] }) {
    this.passed += passed;
    this.failed += failed;
    this.#failures.push(...failures.map((failure) => ({ suite, ...failure })));
    if (failures.length < failed) this.#failures.push({ suite });
  }

  /** Prints the failures and the result line, and returns the exit code: 1 on a failure, or when nothing passed. */
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

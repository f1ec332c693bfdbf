/** Failures shown at the end of the output; often only the end of a log is kept. */
const SHOWN_MAX = 15;

/** A failed case. */
export interface Failure {
  file: string;
  title: string;
  error: string;
}

/** Numbers of cases of a suite, and the failed ones. */
export interface Result {
  passed: number;
  failed: number;
  failures?: Failure[];
}

/** Counts checks and test cases, and prints the result. */
export class Score {
  passed = 0;
  failed = 0;
  private readonly failures: (Partial<Failure> & { suite: string })[] = [];

  add(suite: string, { passed, failed, failures = [] }: Result): void {
    this.passed += passed;
    this.failed += failed;
    this.failures.push(...failures.map((failure) => ({ suite, ...failure })));
    if (failures.length < failed) this.failures.push({ suite });
  }

  /** Prints the failures and the result line, and returns the exit code: 1 on a failure, or when nothing passed. */
  close(): number {
    if (this.failures.length > 0) process.stdout.write(`${this.describeFailures()}\n`);
    process.stdout.write(`${this.passed} passed, ${this.failed} failed\n`);
    return this.failed > 0 || this.passed === 0 ? 1 : 0;
  }

  private describeFailures(): string {
    const shown = this.failures.slice(0, SHOWN_MAX).flatMap(({ suite, file, title, error }) => {
      if (file === undefined) return [`  ${suite}`];
      return [`  ${suite}: ${file}: ${title}`, `    ${error}`];
    });
    const more = this.failures.length - SHOWN_MAX;
    return ['failed:', ...shown, ...(more > 0 ? [`  and ${more} more`] : [])].join('\n');
  }
}

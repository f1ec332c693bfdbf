/** Counts checks and test cases, and has the last word. */
export class Score {
  passed = 0;
  failed = 0;
  #failures = [];

  add(name, { passed, failed }) {
    this.passed += passed;
    this.failed += failed;
    if (failed > 0) this.#failures.push(`${name} (${failed})`);
  }

  /** Writes the last line, alone, and returns the exit code. Nothing having passed is no success. */
  close() {
    if (this.#failures.length > 0) process.stdout.write(`failed: ${this.#failures.join(', ')}\n`);
    process.stdout.write(`${this.passed} passed, ${this.failed} failed\n`);
    return this.failed > 0 || this.passed === 0 ? 1 : 0;
  }
}

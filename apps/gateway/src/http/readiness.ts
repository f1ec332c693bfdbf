import { type ReadinessCheck, readiness } from '#observability/ops-server.js';

/** Whether requests should be sent here. The ops port and the public port give the same answer. */
export class Readiness {
  private draining = false;

  constructor(readonly checks: ReadinessCheck[]) {}

  /** From now on the answer is no. */
  drain(): void {
    this.draining = true;
  }

  async isReady(): Promise<boolean> {
    return (await readiness(this.checks, this.draining)).ready;
  }
}

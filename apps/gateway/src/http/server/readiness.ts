/**
 * Says whether requests should be sent here: from the first catalog until shutdown. Without NATS the gateway stays ready, because only it can
 * answer clients in their format; a load balancer would refuse their connections. The ops port and the public port give the same answer.
 */
export class Readiness {
  private draining = false;

  constructor(readonly checks: { name: string; check: () => boolean }[]) {}

  /** From now on the answer is no. */
  drain(): void {
    this.draining = true;
  }

  isReady(): boolean {
    return !this.draining && this.checks.every(({ check }) => check());
  }
}

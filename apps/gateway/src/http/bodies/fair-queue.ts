/** Account and key of a piece of work. */
export interface WorkOwner {
  accountId: string;
  keyId: string;
}

/** A queue that serves accounts in rotation and runs one piece of work per key at a time. */
export class FairQueue<Work extends { owner: WorkOwner }> {
  /** Waiting work by account; the first account is served next. No list is empty. */
  private readonly accounts = new Map<string, Work[]>();
  private readonly busyKeys = new Set<string>();
  private count = 0;

  get length(): number {
    return this.count;
  }

  add(work: Work): void {
    const waiting = this.accounts.get(work.owner.accountId);
    if (waiting) waiting.push(work);
    else this.accounts.set(work.owner.accountId, [work]);
    this.count++;
  }

  /** Returns the next piece of work whose key is free; the key is busy until `done`. Undefined when there is none. */
  take(): Work | undefined {
    for (const [accountId, waiting] of this.accounts) {
      const work = waiting.find(({ owner }) => !this.busyKeys.has(owner.keyId));
      if (work === undefined) continue;
      this.remove(work);
      this.busyKeys.add(work.owner.keyId);
      this.moveToEnd(accountId);
      return work;
    }
    return undefined;
  }

  done(work: Work): void {
    this.busyKeys.delete(work.owner.keyId);
  }

  /** Returns false when the work is not in the queue. */
  remove(work: Work): boolean {
    const { accountId } = work.owner;
    const waiting = this.accounts.get(accountId);
    const at = waiting?.indexOf(work) ?? -1;
    if (waiting === undefined || at === -1) return false;
    waiting.splice(at, 1);
    if (waiting.length === 0) this.accounts.delete(accountId);
    this.count--;
    return true;
  }

  private moveToEnd(accountId: string): void {
    const waiting = this.accounts.get(accountId);
    if (waiting === undefined) return;
    this.accounts.delete(accountId);
    this.accounts.set(accountId, waiting);
  }
}

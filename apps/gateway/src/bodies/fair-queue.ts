/** The account and the key that a piece of work belongs to. */
export interface WorkOwner {
  accountId: string;
  keyId: string;
}

/** A queue in which accounts take turns, and only one piece of a key's work is under way at a time. */
export class FairQueue<Work extends { owner: WorkOwner }> {
  /** Work by account, in the order of the accounts' turns. No list is empty. */
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

  /** Returns the next piece of work whose key is free; the key is busy until `done`. Undefined when all keys are busy. */
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

  /** Returns false when the piece is not in the queue. */
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

/** Questions to policies at once of one project, and bytes of their texts of one account and of all. */
export interface PolicyLimits {
  projectCallsMax: number;
  accountBytesMax: number;
  bytesMax: number;
}

const LIMITS: PolicyLimits = { projectCallsMax: 64, accountBytesMax: 16 * 1024 * 1024, bytesMax: 64 * 1024 * 1024 };

/** A question that waits for its turn. */
interface Waiting {
  bytes: number;
  begin(): void;
}

/** The questions of one project. */
interface Line {
  projectId: string;
  accountId: string;
  running: number;
  waiting: Waiting[];
}

/**
 * Limits the questions to policies under way, so that a slow policy takes neither memory nor turns from other accounts. Those of a project
 * wait in their order, and projects take turns. Projects without a question take no memory.
 */
export class PolicyTurns {
  /** Lines by project. The first one is served next. */
  private readonly lines = new Map<string, Line>();
  private readonly bytesByAccount = new Map<string, number>();
  private bytes = 0;

  constructor(private readonly limits: PolicyLimits = LIMITS) {}

  /** Questions that wait for their turn. */
  get waiting(): number {
    let count = 0;
    for (const { waiting } of this.lines.values()) count += waiting.length;
    return count;
  }

  /** Resolves with the function that ends the turn, or with undefined when the signal aborts before it has begun. */
  async take(owner: { projectId: string; accountId: string }, bytes: number, signal: AbortSignal): Promise<(() => void) | undefined> {
    const { projectId, accountId } = owner;
    const line = this.lines.get(projectId) ?? { projectId, accountId, running: 0, waiting: [] };
    this.lines.set(projectId, line);
    const begun = await this.awaitTurn(line, bytes, signal);
    if (begun) return () => this.end(line, bytes);
    this.forget(line);
    return undefined;
  }

  private awaitTurn(line: Line, bytes: number, signal: AbortSignal): Promise<boolean> | boolean {
    if (signal.aborted) return false;
    if (line.waiting.length === 0 && this.admits(line, bytes)) {
      this.begin(line, bytes);
      return true;
    }
    return new Promise((resolve) => {
      const abandon = (): void => {
        line.waiting.splice(line.waiting.indexOf(waiting), 1);
        resolve(false);
        // It may have been the one that did not fit.
        this.admitNext();
      };
      const begin = (): void => {
        signal.removeEventListener('abort', abandon);
        resolve(true);
      };
      const waiting = { bytes, begin };
      line.waiting.push(waiting);
      signal.addEventListener('abort', abandon, { once: true });
    });
  }

  /** A question larger than a share runs when nothing else of it does. */
  private admits({ accountId, running }: Line, bytes: number): boolean {
    const { projectCallsMax, accountBytesMax, bytesMax } = this.limits;
    const ofAccount = this.bytesByAccount.get(accountId) ?? 0;
    const fits = (used: number, most: number): boolean => used === 0 || used + bytes <= most;
    return running < projectCallsMax && fits(ofAccount, accountBytesMax) && fits(this.bytes, bytesMax);
  }

  private begin(line: Line, bytes: number): void {
    line.running += 1;
    this.count(line.accountId, bytes);
    this.lines.delete(line.projectId);
    this.lines.set(line.projectId, line);
  }

  private end(line: Line, bytes: number): void {
    line.running -= 1;
    this.count(line.accountId, -bytes);
    this.forget(line);
    this.admitNext();
  }

  private count(accountId: string, bytes: number): void {
    this.bytes += bytes;
    const ofAccount = (this.bytesByAccount.get(accountId) ?? 0) + bytes;
    if (ofAccount === 0) this.bytesByAccount.delete(accountId);
    else this.bytesByAccount.set(accountId, ofAccount);
  }

  /** Begins what fits now, one of each project at a time. */
  private admitNext(): void {
    for (let begun = true; begun; ) {
      begun = false;
      for (const line of [...this.lines.values()]) {
        const [next] = line.waiting;
        if (next === undefined || !this.admits(line, next.bytes)) continue;
        line.waiting.shift();
        this.begin(line, next.bytes);
        next.begin();
        begun = true;
      }
    }
  }

  private forget({ projectId, running, waiting }: Line): void {
    if (running === 0 && waiting.length === 0) this.lines.delete(projectId);
  }
}

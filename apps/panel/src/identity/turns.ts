import { PanelError } from '../errors/panel-error.js';

/** Sign-ins at work in this replica: as many as they have connections to the database. */
export const SIGN_INS_AT_ONCE = 4;
/** Sign-ins of one address at work, so that a flood from one leaves room for others. */
const AT_ONCE_EACH = 2;
/** Sign-ins that wait. More are refused, because they would wait for seconds. */
const WAITING_MAX = 64;
const WAITING_EACH_MAX = 16;

/** Lets sign-ins work in the order of their arrival, a few of each address at a time. */
export class Turns {
  private running = 0;
  private readonly runningByOwner = new Map<string, number>();
  private waiting: { where: string; start: () => void }[] = [];

  /** Runs `work` when it is its turn. `where`: the address, or the session. @throws {PanelError} `rate_limit_exceeded` when too many wait */
  async run<Result>(where: string, work: () => Promise<Result>): Promise<Result> {
    if (this.hasRoom(where)) this.begin(where);
    else await this.wait(where);
    try {
      return await work();
    } finally {
      this.end(where);
    }
  }

  private wait(where: string): Promise<void> {
    const ofThis = this.waiting.filter((one) => one.where === where).length;
    if (ofThis >= WAITING_EACH_MAX || this.waiting.length >= WAITING_MAX)
      throw new PanelError('rate_limit_exceeded', 'Too many sign-ins at once. Try again in a moment.', { retryAfterSeconds: 5 });
    return new Promise((start) => this.waiting.push({ where, start }));
  }

  private hasRoom(where: string): boolean {
    return this.running < SIGN_INS_AT_ONCE && (this.runningByOwner.get(where) ?? 0) < AT_ONCE_EACH;
  }

  private begin(where: string): void {
    this.running++;
    this.runningByOwner.set(where, (this.runningByOwner.get(where) ?? 0) + 1);
  }

  private end(where: string): void {
    this.running--;
    const left = (this.runningByOwner.get(where) ?? 0) - 1;
    if (left > 0) this.runningByOwner.set(where, left);
    else this.runningByOwner.delete(where);
    const next = this.waiting.findIndex((one) => this.hasRoom(one.where));
    const [found] = next === -1 ? [] : this.waiting.splice(next, 1);
    if (!found) return;
    this.begin(found.where);
    found.start();
  }
}

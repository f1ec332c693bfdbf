import { PanelError } from '../errors/panel-error.js';

/** Reads of the journals that one person has at once, with all sessions and tokens. */
export const PERSON_READS_MAX = 2;
/** Reads that wait for them: two pages of usage ask for six each. */
export const PERSON_WAITING_MAX = 16;
const WAIT_MS = 10_000;
const RETRY_AFTER_SECONDS = 1;

interface Person {
  running: number;
  waiting: (() => void)[];
}

/** Limits the reads of usage, requests and journals that one person has at once in this replica. */
export class PersonReads {
  private readonly people = new Map<string, Person>();

  constructor(private readonly waitMs = WAIT_MS) {}

  /**
   * Waits for a place. Returns the function that gives it back.
   * @throws {PanelError} `rate_limit_exceeded` with `Retry-After` when too many wait, or for too long
   */
  async enter(userId: string): Promise<() => void> {
    const person = this.people.get(userId) ?? { running: 0, waiting: [] };
    this.people.set(userId, person);
    if (person.running < PERSON_READS_MAX) person.running++;
    else await this.wait(person);
    return () => this.leave(userId, person);
  }

  /** The one that leaves passes its place on. */
  private wait({ waiting }: Person): Promise<void> {
    if (waiting.length >= PERSON_WAITING_MAX) throw tooMany();
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        waiting.splice(waiting.indexOf(begin), 1);
        reject(tooMany());
      }, this.waitMs);
      waiting.push(begin);
    });
  }

  private leave(userId: string, person: Person): void {
    const next = person.waiting.shift();
    if (next) next();
    else person.running--;
    if (person.running === 0) this.people.delete(userId);
  }
}

function tooMany(): PanelError {
  const message = 'You have too many reads of usage, requests or journals in progress. Try again in a moment.';
  return new PanelError('rate_limit_exceeded', message, { retryAfterSeconds: RETRY_AFTER_SECONDS });
}

import { PanelError } from '../errors/panel-error.js';

/** Milliseconds that a known person waits at first. */
const WAIT_MS = 2_000;
/** Longest wait; a sign-in that would wait longer behind others is refused. Below the 60 s after which many proxies give up. */
const WAIT_MAX_MS = 30_000;

/** Earliest time of the next sign-in of a person, and the least time that it waits. */
interface Turn {
  at: number;
  waitMs: number;
}

/**
 * A person at an address, or an address, where too many sign-ins have failed. Until enough of the failures are over, strangers are refused,
 * and people who have signed in there before wait, so that strangers cannot lock them out.
 */
export class SignInBlock {
  private readonly turns: Map<string, Turn>;

  /** `freeAt`: when the block ends, in milliseconds since 1970. `known`: e-mails of people who have signed in at the address. */
  constructor(
    readonly freeAt: number,
    known: readonly string[],
  ) {
    this.turns = new Map(known.map((email) => [email, firstTurn()]));
  }

  /**
   * Returns the milliseconds that a sign-in waits. Each waits behind those before it, and doubles the wait of the next: guesses stay
   * slow without being counted. `email`: absent for a person whom a provider is to name, who takes any turn and has guessed nothing.
   * @throws {PanelError} `rate_limit_exceeded` for a stranger, and when the wait would be too long
   */
  waitForTurn(email: string | undefined, now: number): number {
    const turn = email === undefined ? this.turns.values().next().value : this.turns.get(email);
    if (!turn) throw refusal(this.freeAt - now);
    const at = Math.max(now, turn.at) + turn.waitMs;
    if (at - now > WAIT_MAX_MS) throw refusal(at - now - WAIT_MAX_MS);
    turn.at = at;
    if (email !== undefined) turn.waitMs = Math.min(2 * turn.waitMs, WAIT_MAX_MS);
    return at - now;
  }

  /** Ends the wait of a person whose password was right. */
  reset(email: string): void {
    if (this.turns.has(email)) this.turns.set(email, firstTurn());
  }
}

function firstTurn(): Turn {
  return { at: 0, waitMs: WAIT_MS };
}

function refusal(afterMs: number): PanelError {
  const retryAfterSeconds = Math.max(1, Math.ceil(afterMs / 1_000));
  return new PanelError('rate_limit_exceeded', 'Too many failed sign-ins. Try again later.', { retryAfterSeconds });
}

import { randomUUIDv7 } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Prisma, PrismaClient } from '#database/prisma-client.js';
import { addressGroup } from '#network/address-group.js';
import { UNKNOWN_ADDRESS } from '#observability/client-address.js';
import { PanelError } from '../errors/panel-error.js';
import { computeDigest } from './secret.js';
import { Turns } from './turns.js';

/** Milliseconds for which a failed sign-in counts. */
const WINDOW_MS = 15 * 60_000;
/** Failures of one person at one address in the window, or in one session. */
const EACH_MAX = 10;
/** Failures of one address in the window: many people may share it. */
const BY_ADDRESS_MAX = 50;
/** Milliseconds before a refusal is sent, so that a connection causes at most one a second. */
const REFUSAL_DELAY_MS = 1_000;
/** Refusals that are delayed at once; more are sent immediately. */
const REFUSALS_DELAYED_MAX = 500;
/** Refused people and addresses that are remembered. One that is forgotten is refused by the database. */
const BLOCKS_MAX = 5_000;

/** A sign-in or a confirmation that counts if it fails. */
export interface Attempt {
  /** The e-mail, or the text in its place. */
  who: string;
  /** The address or the session at which failures count together. */
  where: string;
  /** Address whose known people are delayed and not refused. */
  address?: string;
}

/** Removes the failures of an attempt that was right. */
export type Forget = () => Promise<void>;

export function passwordAttempt(email: string, address: string): Attempt {
  const group = addressGroup(address);
  return { who: email, where: group, address: group };
}

/** An attempt of a person whom the provider has not named yet. It does not count with passwords, so that neither locks the other out. */
export function providerAttempt(requestId: string, address: string): Attempt {
  const group = addressGroup(address);
  return { who: `sso ${requestId}`, where: `sso ${group}`, address: group };
}

/** A code after a right password. All of a person count together, wherever they come from: there are few codes. */
export function codeAttempt(userId: string): Attempt {
  return { who: `code ${userId}`, where: `code ${userId}` };
}

/** A password that a signed-in person types again. Failed sign-ins of others do not count, so that a stranger cannot stop it. */
export function confirmation(sessionId: string): Attempt {
  return { who: `session ${sessionId}`, where: `session ${sessionId}` };
}

/**
 * Counts failed sign-ins in the database, for all replicas. An attempt is written before the credential is checked and removed when it was
 * right, so that parallel guesses cannot pass the limit together. What has been refused once is refused from memory until its time is over.
 */
export class Throttle {
  private readonly blocks = new Map<string, SignInBlock>();
  private readonly turns = new Turns();
  /** Refusals that are being delayed. */
  private refusals = 0;

  /** `prisma`: connections for sign-ins alone. */
  constructor(private readonly prisma: PrismaClient) {}

  /**
   * Runs `work`, the check of a credential, when it is its turn. The attempt has failed unless `work` calls `forget`.
   * @throws {PanelError} `rate_limit_exceeded`, after a delay
   */
  async run<Result>(attempt: Attempt, work: (forget: Forget) => Promise<Result>): Promise<Result> {
    try {
      return await this.admit(attempt, work);
    } catch (error) {
      if (error instanceof PanelError && error.code === 'rate_limit_exceeded') await this.delayRefusal();
      throw error;
    }
  }

  private async admit<Result>(attempt: Attempt, work: (forget: Forget) => Promise<Result>): Promise<Result> {
    const block = this.findBlock(attempt);
    if (block) await delay(block.waitForTurn(guessedPerson(attempt), Date.now()));
    const outcome = await this.turns.run(attempt.where, async () => {
      // Another attempt may have been the last one while this one waited. One that was delayed does not count.
      if (!block && (this.findBlock(attempt) || (await this.isOver(attempt)))) return undefined;
      return { result: await work(() => this.forget(attempt)) };
    });
    return outcome ? outcome.result : this.admit(attempt, work);
  }

  /** Returns what keeps an attempt from being made now, from memory. */
  private findBlock({ who, where }: Attempt): SignInBlock | undefined {
    const found = [joinKey(who, where), where].flatMap((key) => {
      const block = this.blocks.get(key);
      if (block && block.freeAt > Date.now()) return [block];
      this.blocks.delete(key);
      return [];
    });
    return found.sort((one, other) => other.freeAt - one.freeAt)[0];
  }

  /** Writes an attempt, unless there were too many: then it remembers until when, and returns true. */
  private async isOver({ who, where, address }: Attempt): Promise<boolean> {
    const emailDigest = computeDigest(who);
    return this.prisma.$transaction(async (tx) => {
      // Attempts of one address take turns over all replicas, so that each counts those before it.
      await tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtextextended(${`address ${where}`}, 0))`;
      await tx.panelLoginFailure.deleteMany({ where: { at: { lt: new Date(Date.now() - WINDOW_MS) } } });
      const each = await freeFrom(tx, { emailDigest, address: where }, EACH_MAX);
      const all = await freeFrom(tx, { address: where }, BY_ADDRESS_MAX);
      if (each === 0 && all === 0) {
        await tx.panelLoginFailure.create({ data: { id: randomUUIDv7(), emailDigest, address: where, at: new Date() } });
        return false;
      }
      const known = address === undefined ? [] : await knownPeople(tx, address);
      if (all > 0) this.remember(where, new SignInBlock(all, known));
      else this.remember(joinKey(who, where), new SignInBlock(each, known.includes(who) ? [who] : []));
      return true;
    });
  }

  private async delayRefusal(): Promise<void> {
    if (this.refusals >= REFUSALS_DELAYED_MAX) return;
    this.refusals++;
    await delay(REFUSAL_DELAY_MS);
    this.refusals--;
  }

  private remember(key: string, block: SignInBlock): void {
    for (const oldest of this.blocks.keys()) {
      if (this.blocks.size < BLOCKS_MAX) break;
      this.blocks.delete(oldest);
    }
    this.blocks.set(key, block);
  }

  private async forget({ who, where }: Attempt): Promise<void> {
    this.blocks.delete(joinKey(who, where));
    this.blocks.get(where)?.reset(who);
    await this.prisma.panelLoginFailure.deleteMany({ where: { emailDigest: computeDigest(who), address: where } });
  }
}

/** Returns the e-mail whose password an attempt guesses; undefined for one with a provider. */
function guessedPerson({ who, where, address }: Attempt): string | undefined {
  return where === address ? who : undefined;
}

/** The separator is in no address and no session. */
function joinKey(who: string, where: string): string {
  return `${where}\n${Buffer.from(computeDigest(who)).toString('base64')}`;
}

/** Returns the moment at which another attempt may be made, in milliseconds since 1970; 0 when it may be made now. */
async function freeFrom(tx: Prisma.TransactionClient, where: Prisma.PanelLoginFailureWhereInput, max: number): Promise<number> {
  const latest = await tx.panelLoginFailure.findMany({ where, orderBy: { at: 'desc' }, take: max, select: { at: true } });
  const oldest = latest[max - 1];
  return oldest ? oldest.at.getTime() + WINDOW_MS : 0;
}

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

/** Milliseconds after a sign-in for which its address counts as the person's. */
const KNOWN_MS = 90 * 86_400_000;
/** People of one address that are known at once. */
const PEOPLE_MAX = 1_000;

/** Notes that a person has signed in from an address, and forgets those of long ago. Skips an unknown one, which any stranger shares. */
export async function noteAddress(tx: Prisma.TransactionClient, userId: string, clientAddress: string, at: Date): Promise<void> {
  if (clientAddress === UNKNOWN_ADDRESS) return;
  const address = addressGroup(clientAddress);
  await tx.panelSignInAddress.deleteMany({ where: { userId, at: { lt: new Date(at.getTime() - KNOWN_MS) } } });
  await tx.panelSignInAddress.upsert({ where: { userId_address: { userId, address } }, create: { userId, address, at }, update: { at } });
}

/** Returns the e-mails of people who have signed in from an address, a group of `addressGroup`. */
async function knownPeople(tx: Prisma.TransactionClient, address: string): Promise<string[]> {
  const where = { address, at: { gte: new Date(Date.now() - KNOWN_MS) } };
  const rows = await tx.panelSignInAddress.findMany({ where, orderBy: { at: 'desc' }, take: PEOPLE_MAX, include: { user: true } });
  return rows.map(({ user }) => user.email);
}

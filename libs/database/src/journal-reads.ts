import { ServiceError } from '#contracts/service-error.js';
import type { PrismaClient } from './prisma-client.js';

/** The reader of reads for the whole platform, and of those that an operator makes. */
export const OPERATOR = 'operator';

/** Part of the places that the operator has for itself, and of those that accounts have. */
const RESERVED_SHARE = 1 / 3;
/** Waiting reads of one account: two overviews of the panel. */
const ACCOUNT_WAITING_MAX = 16;
/** Waiting reads of operators and internal services, who read for all accounts. The rest of the places is left to accounts. */
const OPERATOR_WAITING_MAX = 512;
const WAITING_MAX = 1_024;
/** With the limit of a statement, 10 s, this is below the 15 s that gateway and panel wait for an answer. */
const WAIT_MS = 4_000;

export interface JournalReadsOptions {
  /** Reads that run at once: the connections of the pool. */
  runningMax: number;
  /** Running reads of one account. */
  shareMax: number;
  waitMs?: number;
}

interface Read {
  question: string;
  reply: Promise<unknown>;
  start: () => void;
  refuse: (error: ServiceError) => void;
  timer: NodeJS.Timeout;
}

/**
 * Reads that may scan a journal, on a pool of their own: however many they are, and however long they take, changes and balances do not wait
 * for them. Readers take turns. One account has `shareMax` of the places, and all accounts together leave a third to the operator, as the
 * operator does to them. A read joins an identical one that still waits, so no reply is older than its request; one that runs already is
 * waited for.
 */
export class JournalReads {
  /** By reader; the first reader is served next. No list is empty. */
  private readonly waiting = new Map<string, Read[]>();
  private readonly runningByOwner = new Map<string, number>();
  private readonly questions = new Set<string>();
  private running = 0;
  private waitingCount = 0;

  constructor(
    private readonly prisma: PrismaClient,
    private readonly options: JournalReadsOptions,
  ) {}

  /**
   * Runs `work`, or joins the same `question` of the same reader.
   * @param reader id of the account whose share it counts in, or `OPERATOR`
   * @throws {ServiceError} `rate_limit_exceeded` when the reader has too many reads, `unavailable` when all places stay taken
   */
  read<Result>(reader: string, question: readonly unknown[], work: (prisma: PrismaClient) => Promise<Result>): Promise<Result> {
    const name = JSON.stringify([reader, question]);
    const own = this.waiting.get(reader) ?? [];
    const same = own.find((read) => read.question === name);
    if (same) return same.reply as Promise<Result>;
    const waitingMax = reader === OPERATOR ? OPERATOR_WAITING_MAX : ACCOUNT_WAITING_MAX;
    if (own.length >= waitingMax) return Promise.reject(tooMany());
    if (this.waitingCount >= WAITING_MAX) return Promise.reject(busy());
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const start = (): void => {
      this.begin(reader, name);
      work(this.prisma)
        .finally(() => this.end(reader, name))
        .then(resolve, reject);
    };
    const read: Read = {
      question: name,
      reply: promise,
      start,
      refuse: reject,
      timer: setTimeout(() => this.giveUp(reader, read), this.waitMs).unref(),
    };
    own.push(read);
    this.waiting.set(reader, own);
    this.waitingCount++;
    this.startNext();
    return promise;
  }

  private startNext(): void {
    for (let next = this.takeNext(); next; next = this.takeNext()) next.start();
  }

  private takeNext(): Read | undefined {
    for (const [reader, reads] of this.waiting) {
      const read = this.admits(reader) ? reads.find(({ question }) => !this.questions.has(question)) : undefined;
      if (read === undefined) continue;
      this.remove(reader, read);
      const rest = this.waiting.get(reader);
      if (rest) {
        this.waiting.delete(reader);
        this.waiting.set(reader, rest);
      }
      return read;
    }
    return undefined;
  }

  private admits(reader: string): boolean {
    const { runningMax, shareMax } = this.options;
    if (this.running >= runningMax) return false;
    const own = this.runningByOwner.get(reader) ?? 0;
    const ofOperator = this.runningByOwner.get(OPERATOR) ?? 0;
    const sharedMax = runningMax - Math.floor(runningMax * RESERVED_SHARE);
    return reader === OPERATOR ? ofOperator < sharedMax : own < shareMax && this.running - ofOperator < sharedMax;
  }

  private giveUp(reader: string, read: Read): void {
    this.remove(reader, read);
    const isOwnFault = reader !== OPERATOR && (this.runningByOwner.get(reader) ?? 0) >= this.options.shareMax;
    read.refuse(isOwnFault ? tooMany() : busy());
  }

  private remove(reader: string, read: Read): void {
    clearTimeout(read.timer);
    const rest = (this.waiting.get(reader) ?? []).filter((one) => one !== read);
    if (rest.length > 0) this.waiting.set(reader, rest);
    else this.waiting.delete(reader);
    this.waitingCount--;
  }

  private begin(reader: string, question: string): void {
    this.running++;
    this.runningByOwner.set(reader, (this.runningByOwner.get(reader) ?? 0) + 1);
    this.questions.add(question);
  }

  private end(reader: string, question: string): void {
    this.running--;
    this.questions.delete(question);
    const left = (this.runningByOwner.get(reader) ?? 1) - 1;
    if (left > 0) this.runningByOwner.set(reader, left);
    else this.runningByOwner.delete(reader);
    this.startNext();
  }

  private get waitMs(): number {
    return this.options.waitMs ?? WAIT_MS;
  }
}

function tooMany(): ServiceError {
  return new ServiceError('rate_limit_exceeded', 'Too many reads of usage, requests or journals are in progress. Try again in a moment.');
}

function busy(): ServiceError {
  return new ServiceError('unavailable', 'Too many reads of the journals are in progress. Try again in a moment.');
}

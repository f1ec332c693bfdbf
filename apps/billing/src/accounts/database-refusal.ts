import { ServiceError } from '#contracts/service-error.js';
import { Prisma } from '#database/prisma-client.js';

const UNIQUE_VIOLATION = 'P2002';
const FOREIGN_KEY_VIOLATION = 'P2003';
const ROW_NOT_FOUND = 'P2025';

/** True when another row has the same key. */
export function isDuplicate(error: unknown): boolean {
  return hasCode(error, UNIQUE_VIOLATION);
}

/** True when the row, or a row it refers to, does not exist. */
export function isMissing(error: unknown): boolean {
  return hasCode(error, FOREIGN_KEY_VIOLATION) || hasCode(error, ROW_NOT_FOUND);
}

/** True when a statement exceeded its time limit. */
export function isCancelled(error: unknown): boolean {
  return error instanceof Prisma.PrismaClientKnownRequestError && stateOf(error) === '57014';
}

/**
 * Waits for a query off the hot path. Turns the error of a database that is away into `ServiceError('unavailable')`; other errors pass
 * unchanged.
 */
export async function orUnavailable<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (!isAway(error)) throw error;
    throw new ServiceError('unavailable', 'The billing database cannot be reached at the moment.', undefined, { cause: error });
  }
}

/** Codes of Prisma for a server that is unreachable or too slow, and classes 08, 53 and 57 of Postgres. */
const AWAY_CODES: readonly string[] = ['P1001', 'P1002', 'P1008', 'P1017', 'P2024'];
const AWAY_KINDS: readonly string[] = ['DatabaseNotReachable', 'ConnectionClosed', 'SocketTimeout', 'TooManyConnections'];
const AWAY_STATES = /^(08|53|57)/;
/** Messages of the driver for errors without a code. */
const AWAY_WORDS = /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error)/;

function isAway(error: unknown): boolean {
  if (error instanceof Prisma.PrismaClientInitializationError) return true;
  if (!(error instanceof Prisma.PrismaClientKnownRequestError)) return error instanceof Error && AWAY_WORDS.test(error.message);
  if (AWAY_CODES.includes(error.code)) return true;
  return AWAY_KINDS.includes(causeOf(error)?.kind ?? '') || AWAY_STATES.test(stateOf(error));
}

/** Returns the SQLSTATE; undefined when the error is not from Postgres. */
function stateOf(error: Prisma.PrismaClientKnownRequestError): string {
  return causeOf(error)?.originalCode ?? '';
}

function causeOf(error: Prisma.PrismaClientKnownRequestError): { kind?: string; originalCode?: string } | undefined {
  return ((error.meta?.driverAdapterError ?? {}) as { cause?: { kind?: string; originalCode?: string } }).cause;
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Prisma.PrismaClientKnownRequestError && error.code === code;
}

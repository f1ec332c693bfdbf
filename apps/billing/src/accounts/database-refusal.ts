import { ServiceError } from '#contracts/service-error.js';
import { Prisma } from '#database/prisma-client.js';

const UNIQUE_VIOLATION = 'P2002';
const FOREIGN_KEY_VIOLATION = 'P2003';
const ROW_NOT_FOUND = 'P2025';

/** Whether the row was refused because another has the same key. */
export function isDuplicate(error: unknown): boolean {
  return hasCode(error, UNIQUE_VIOLATION);
}

/** Whether what a row belongs to, or the row itself, is not there. */
export function isMissing(error: unknown): boolean {
  return hasCode(error, FOREIGN_KEY_VIOLATION) || hasCode(error, ROW_NOT_FOUND);
}

/** Whether a statement took longer than it may. */
export function isCancelled(error: unknown): boolean {
  return error instanceof Prisma.PrismaClientKnownRequestError && stateOf(error) === '57014';
}

/**
 * Waits for work off the hot path. A database that is away or restarting becomes `ServiceError('unavailable')`; refusals
 * pass as they are, and so does what nobody expected, which the transport logs and hides.
 */
export async function orUnavailable<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (!isAway(error)) throw error;
    throw new ServiceError('unavailable', 'The billing database cannot be reached at the moment.', undefined, { cause: error });
  }
}

/** Prisma's codes for a server that cannot be reached or is too slow, and Postgres' classes 08, 53 and 57. */
const AWAY_CODES: readonly string[] = ['P1001', 'P1002', 'P1008', 'P1017', 'P2024'];
const AWAY_KINDS: readonly string[] = ['DatabaseNotReachable', 'ConnectionClosed', 'SocketTimeout', 'TooManyConnections'];
const AWAY_STATES = /^(08|53|57)/;
/** The driver's words where there is no code: Prisma passes its errors on as they are. */
const AWAY_WORDS = /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error)/;

function isAway(error: unknown): boolean {
  if (error instanceof Prisma.PrismaClientInitializationError) return true;
  if (!(error instanceof Prisma.PrismaClientKnownRequestError)) return error instanceof Error && AWAY_WORDS.test(error.message);
  if (AWAY_CODES.includes(error.code)) return true;
  return AWAY_KINDS.includes(causeOf(error)?.kind ?? '') || AWAY_STATES.test(stateOf(error));
}

/** Postgres' own code, or nothing if it did not come from there. */
function stateOf(error: Prisma.PrismaClientKnownRequestError): string {
  return causeOf(error)?.originalCode ?? '';
}

function causeOf(error: Prisma.PrismaClientKnownRequestError): { kind?: string; originalCode?: string } | undefined {
  return ((error.meta?.driverAdapterError ?? {}) as { cause?: { kind?: string; originalCode?: string } }).cause;
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Prisma.PrismaClientKnownRequestError && error.code === code;
}

import { ServiceError } from '#contracts/service-error.js';
import { Prisma } from './prisma-client.js';

/** Returns the `ServiceError` for a database that is away; any other error unchanged. */
export function asUnavailable(error: unknown, message: string): unknown {
  return isDatabaseAway(error) ? new ServiceError('unavailable', message, undefined, { cause: error }) : error;
}

/**
 * Codes of Prisma for a server that is unreachable or too slow, and for a pool whose connections are all in use: P2024 for a query, P2028 for
 * a transaction that could not begin or lasted too long and was rolled back. Then classes 08, 53 and 57 of Postgres.
 */
const AWAY_CODES: readonly string[] = ['P1001', 'P1002', 'P1008', 'P1017', 'P2024', 'P2028'];
const AWAY_KINDS: readonly string[] = ['DatabaseNotReachable', 'ConnectionClosed', 'SocketTimeout', 'TooManyConnections'];
const AWAY_STATES = /^(08|53|57)/;
/** Messages of the driver for errors without a code. */
const AWAY_WORDS = /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error)/;

/** True when the same call may succeed later: the database is away, or had no connection or time for it. */
export function isDatabaseAway(error: unknown): boolean {
  if (error instanceof Prisma.PrismaClientInitializationError) return true;
  if (!(error instanceof Prisma.PrismaClientKnownRequestError)) return error instanceof Error && AWAY_WORDS.test(error.message);
  if (AWAY_CODES.includes(error.code)) return true;
  return AWAY_KINDS.includes(readCause(error)?.kind ?? '') || AWAY_STATES.test(readSqlState(error));
}

/** Returns the SQLSTATE; the empty text when the error is not from Postgres. */
export function readSqlState(error: Prisma.PrismaClientKnownRequestError): string {
  return readCause(error)?.originalCode ?? '';
}

function readCause(error: Prisma.PrismaClientKnownRequestError): { kind?: string; originalCode?: string } | undefined {
  return ((error.meta?.driverAdapterError ?? {}) as { cause?: { kind?: string; originalCode?: string } }).cause;
}

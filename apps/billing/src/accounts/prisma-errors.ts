import { readSqlState } from '#database/database-outage.js';
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
  return error instanceof Prisma.PrismaClientKnownRequestError && readSqlState(error) === '57014';
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Prisma.PrismaClientKnownRequestError && error.code === code;
}

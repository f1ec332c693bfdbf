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

/** Waits for work off the hot path: refusals pass as they are, anything else is a database that cannot be used at the moment. */
export async function orUnavailable<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    throw new ServiceError('unavailable', 'The billing database cannot be used at the moment.', undefined, { cause: error });
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Prisma.PrismaClientKnownRequestError && error.code === code;
}

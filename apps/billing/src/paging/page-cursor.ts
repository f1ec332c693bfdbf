import { createHash } from 'node:crypto';
import { ServiceError } from '#contracts/service-error.js';

/**
 * Where a page ended, for the next to go on behind it: opaque to callers, and bound to the question it answers, so that a cursor
 * of another question is refused instead of answering it wrongly.
 */
export function renderCursor(question: unknown, after: readonly string[]): string {
  return Buffer.from(JSON.stringify([digest(question), ...after])).toString('base64url');
}

/** The values of `renderCursor`, each of its form: callers can write cursors too. `ServiceError('invalid_request')` names `cursor`. */
export function parseCursor(question: unknown, cursor: string, forms: readonly ((value: string) => boolean)[]): string[] {
  const [bound, ...after] = decode(cursor);
  const isWellFormed =
    after.length === forms.length && after.every((value, position) => typeof value === 'string' && forms[position]?.(value));
  if (!isWellFormed) throw new ServiceError('invalid_request', 'The cursor is not one of ours.', 'cursor');
  if (bound !== digest(question)) {
    throw new ServiceError('invalid_request', 'The cursor belongs to another question: repeat the fields it came with.', 'cursor');
  }
  return after as string[];
}

export const isId = (value: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value);
export const isMoment = (value: string): boolean =>
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/.test(value) && !Number.isNaN(Date.parse(value));
export const isText = (value: string): boolean => !value.includes('\0');

function decode(cursor: string): unknown[] {
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}

function digest(question: unknown): string {
  return createHash('sha256').update(JSON.stringify(question)).digest('base64url').slice(0, 16);
}

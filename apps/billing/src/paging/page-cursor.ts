import { createHash } from 'node:crypto';
import { ServiceError } from '#contracts/service-error.js';

/** Renders the position after a page. Opaque to callers, and bound to the query: a cursor of another query is refused. */
export function renderCursor(question: unknown, after: readonly string[]): string {
  return Buffer.from(JSON.stringify([digest(question), ...after])).toString('base64url');
}

/**
 * Returns the values of `renderCursor`, each checked by its form, because callers can forge cursors.
 * @throws {ServiceError} `invalid_request` for `cursor`.
 */
export function parseCursor(question: unknown, cursor: string, forms: readonly ((value: string) => boolean)[]): string[] {
  const [bound, ...after] = decode(cursor);
  const isWellFormed =
    after.length === forms.length && after.every((value, position) => typeof value === 'string' && forms[position]?.(value));
  if (!isWellFormed) throw new ServiceError('invalid_request', 'The cursor is not valid.', 'cursor');
  if (bound !== digest(question)) {
    throw new ServiceError('invalid_request', 'The cursor belongs to another query: repeat the fields of the first page.', 'cursor');
  }
  return after as string[];
}

export const isId = (value: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value);
export const isMoment = (value: string): boolean =>
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/.test(value) && !Number.isNaN(Date.parse(value));
export const isInteger = (value: string): boolean => /^-?\d{1,18}$/.test(value);
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

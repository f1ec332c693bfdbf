import type { RefusalPlace } from '../../activity/refusals.js';
import { PanelError } from '../../errors/panel-error.js';

/** Start of a page of the list in its two sources. */
export interface ListPlace {
  /** Billing's own cursor. Absent: billing is asked for what follows `bound`. */
  billed?: string | undefined;
  /**
   * End of the time that billing is asked for, excluded; its start, when the oldest come first. It is part of billing's question, so it stays
   * on the pages after.
   */
  bound?: string;
  /** The refused requests after this place. */
  refused?: RefusalPlace;
}

export function renderPlace({ billed = '', bound = '', refused }: ListPlace): string {
  return Buffer.from(JSON.stringify([billed, bound, refused?.at ?? '', refused?.requestId ?? ''])).toString('base64url');
}

/**
 * Returns the place of a cursor, each part checked, because callers can forge cursors.
 * @throws {PanelError} `invalid_request` for `cursor`
 */
export function parsePlace(cursor: string): ListPlace {
  const parts = decode(cursor);
  const [billed = '', bound = '', at = '', requestId = ''] = parts;
  const isWellFormed = parts.length === 4 && [bound, at].every((time) => time === '' || isTime(time)) && !requestId.includes('\0');
  if (!isWellFormed) throw new PanelError('invalid_request', 'The cursor is not valid.', { param: 'cursor' });
  return { ...(billed && { billed }), ...(bound && { bound }), ...(at && { refused: { at, requestId } }) };
}

function decode(cursor: string): string[] {
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    return Array.isArray(value) && value.every((part) => typeof part === 'string') ? value : [];
  } catch {
    return [];
  }
}

function isTime(text: string): boolean {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(text) && !Number.isNaN(Date.parse(text));
}

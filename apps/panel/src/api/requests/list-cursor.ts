import type { RefusalPlace } from '../../activity/refusals.js';
import { PanelError } from '../../errors/panel-error.js';

/** Start of a page of the list in its two sources. */
export interface ListPlace {
  /** Billing's own cursor. Absent: billing is asked for the newest before `billedTo`. */
  billed?: string | undefined;
  /** End of the time that billing is asked for, excluded. It is part of billing's question, so it stays on the pages after. */
  billedTo?: string;
  /** The refused requests before this place. */
  refused?: RefusalPlace;
}

export function renderPlace({ billed = '', billedTo = '', refused }: ListPlace): string {
  return Buffer.from(JSON.stringify([billed, billedTo, refused?.at ?? '', refused?.requestId ?? ''])).toString('base64url');
}

/**
 * Returns the place of a cursor, each part checked, because callers can forge cursors.
 * @throws {PanelError} `invalid_request` for `cursor`
 */
export function parsePlace(cursor: string): ListPlace {
  const parts = decode(cursor);
  const [billed = '', billedTo = '', at = '', requestId = ''] = parts;
  const isWellFormed = parts.length === 4 && [billedTo, at].every((time) => time === '' || isTime(time)) && !requestId.includes('\0');
  if (!isWellFormed) throw new PanelError('invalid_request', 'The cursor is not valid.', { param: 'cursor' });
  return { ...(billed && { billed }), ...(billedTo && { billedTo }), ...(at && { refused: { at, requestId } }) };
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

import { optional, text } from '../parameters.js';

/** Of a list that comes in pages. */
export const cursor = optional(text(2_000, 'cursor'), 'the page after the one that showed it');

/** A line under a page that is not the last. */
export function morePages(nextCursor: string | null): string {
  return nextCursor === null ? '' : `\nmore: --cursor ${nextCursor}`;
}

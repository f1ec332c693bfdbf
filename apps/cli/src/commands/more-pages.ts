import { optional, text } from '../parameters.js';

/** Option of every paged list. */
export const cursor = optional(text(2_000, 'cursor'), 'cursor that the previous page showed');

/** Renders the cursor of the next page, if there is one. */
export function morePages(nextCursor: string | null): string {
  return nextCursor === null ? '' : `\nmore: --cursor ${nextCursor}`;
}

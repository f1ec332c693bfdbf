/** A line under a page that is not the last. */
export function morePages(nextCursor: string | null): string {
  return nextCursor === null ? '' : `\nmore: --cursor ${nextCursor}`;
}

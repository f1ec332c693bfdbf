import { REQUEST_SORTS, type RequestOrder, type RequestSort } from '#contracts/rules/request-order.js';

/** Order of the list: the newest first, unless the address names a column that the list can be sorted by. */
export const NEWEST_FIRST = '-time';

interface AskedOrder {
  /** As `Table` names it: a column, with `-` before it for the largest first. */
  by: string;
  /** As the API takes it. Empty for the newest first, which is its default. */
  asked: { sort?: RequestSort; order?: RequestOrder };
}

/** Reads the order of an address. That of a table of another page is none of this list. */
export function readOrder(sort: string = NEWEST_FIRST): AskedOrder {
  const isAscending = !sort.startsWith('-');
  const column = REQUEST_SORTS.find((name) => name === (isAscending ? sort : sort.slice(1)));
  if (column === undefined || sort === NEWEST_FIRST) return { by: NEWEST_FIRST, asked: {} };
  return { by: sort, asked: { sort: column, order: isAscending ? 'asc' : 'desc' } };
}

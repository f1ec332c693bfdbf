/** Values by which a list of requests can be sorted. `duration`: from the hold to the settlement. */
export const REQUEST_SORTS = ['time', 'duration', 'promptTokens', 'outputTokens', 'cost'] as const;
export type RequestSort = (typeof REQUEST_SORTS)[number];

/** `desc`: the newest or largest first. */
export const REQUEST_ORDERS = ['desc', 'asc'] as const;
export type RequestOrder = (typeof REQUEST_ORDERS)[number];

/** Requests of a time that are sorted: reading them takes some 400 ms. */
export const SORTED_REQUESTS_MAX = 200_000;

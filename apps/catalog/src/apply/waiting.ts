/** Scheduled prices that are neither applied nor cancelled. */
export const WAITING = { revision: null, cancelledAt: null };

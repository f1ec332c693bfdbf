import { serviceAuthor } from '#database/audit-journal.js';

/** Author of changes without a caller: those that billing makes by itself, and those of tests. */
export const OWN_AUTHOR = serviceAuthor('billing');

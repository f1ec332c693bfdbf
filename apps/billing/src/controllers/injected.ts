/** Names under which controllers are given what is not a class of ours. */
export const PRISMA = Symbol('prisma');
export const MESSAGING = Symbol('messaging');
export const LOGGER = Symbol('logger');

/** See ports.mjs. */
export function freePort(): Promise<number>;

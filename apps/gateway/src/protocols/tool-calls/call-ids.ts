import { hash } from 'node:crypto';

/**
 * An id of a tool call in the letters that clients and upstreams of every kind accept (M-13). A safe id stays as it is; any
 * other becomes a hash of itself, so that a call and its result, in a reply and in all later requests, keep one id.
 */
export function safeCallId(id: string): string {
  return SAFE.test(id) ? id : `toolu_${hash('sha256', id).slice(0, HASH_LENGTH)}`;
}

const HASH_LENGTH = 24;
const SAFE = /^[A-Za-z0-9_-]{1,256}$/;

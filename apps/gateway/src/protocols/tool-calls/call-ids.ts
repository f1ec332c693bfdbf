import { hash } from 'node:crypto';

/**
 * Returns a tool call id in characters that all clients and upstreams accept. A safe id is returned unchanged. Any other is replaced by its
 * hash, so that a call and its result have the same id in the reply and in all later requests.
 */
export function safeCallId(id: string): string {
  return SAFE.test(id) ? id : `toolu_${hash('sha256', id).slice(0, HASH_LENGTH)}`;
}

const HASH_LENGTH = 24;
const SAFE = /^[A-Za-z0-9_-]{1,256}$/;

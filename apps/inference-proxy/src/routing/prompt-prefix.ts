import type { InferenceRequest } from '#inference/request.js';
import type { TextPart, Turn } from '#inference/turn.js';

/** Characters that are hashed of each leading turn, to bound the work. */
const LENGTH_MAX = 1_024;
const SYSTEM_TURNS_MAX = 4;

/**
 * Returns a hash of a prompt's beginning: the model, the leading system turns and the first turn after them, 1,024 characters of each.
 * All requests of a conversation have the same key, so that they can use the same prompt cache. Embeddings have no cache: their first input
 * spreads them over the routes.
 */
export function prefixKey({ model, turns, embedding }: Pick<InferenceRequest, 'model' | 'turns' | 'embedding'>): number {
  let hash = mixText(OFFSET, model);
  if (embedding) return finish(mixText(hash, String(embedding.inputs[0]?.slice(0, LENGTH_MAX))));
  for (const [index, turn] of turns.entries()) {
    hash = mixTurn(hash, turn);
    if (turn.role !== 'system' || index + 1 >= SYSTEM_TURNS_MAX) break;
  }
  return finish(hash);
}

/**
 * Returns how much a key prefers a route, by weighted rendezvous hashing: the highest value wins. When a route comes or goes, only its
 * own keys move. Over many keys each route wins in proportion to its weight.
 */
export function affinity(key: number, routeHash: number, weight: number): number {
  const uniform = (finish(key ^ Math.imul(routeHash, 0x9e3779b1)) + 0.5) / 2 ** 32;
  return -weight / Math.log(uniform);
}

/** Returns the hash of a route's name, for `affinity`. */
export function hashText(text: string): number {
  return finish(mixText(OFFSET, text));
}

function mixTurn(hash: number, turn: Turn): number {
  if (turn.role !== 'system' && turn.role !== 'user') return mixText(hash, turn.role);
  let mixed = mixText(hash, turn.role);
  let left = LENGTH_MAX;
  for (const part of turn.parts) {
    if (left <= 0) break;
    const text = partText(part);
    mixed = mixText(mixed, text, left);
    left -= text.length;
  }
  return mixed;
}

function partText(part: TextPart | { type: 'image'; base64: string }): string {
  return part.type === 'text' ? part.text : part.base64;
}

// FNV-1a over UTF-16 units, and the finisher of MurmurHash3 so that similar texts have unlike keys.
const OFFSET = 0x811c9dc5;
const PRIME = 0x01000193;

function mixText(hash: number, text: string, lengthMax = LENGTH_MAX): number {
  let mixed = Math.imul(hash ^ 0xff, PRIME); // between texts: "a" + "bc" is not "ab" + "c"
  const length = Math.min(text.length, lengthMax);
  for (let index = 0; index < length; index++) mixed = Math.imul(mixed ^ text.charCodeAt(index), PRIME);
  return mixed;
}

function finish(hash: number): number {
  let mixed = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

// Ids of child keys. Imports nothing: browsers load it.

/** Most child keys in a chain below a key. */
export const CHILD_DEPTH_MAX = 3;

/**
 * Id of a child key: that of each child key of its chain, from the key down, with points between them. Each has the second in which it ends
 * and 64 random bits, so that no place needs to remember when a child ends: `1798761600-9f86d081884c7d65.1798758000-2c26b46b68ffc68f`.
 */
export const CHILD_PATH = /^\d{10}-[0-9a-f]{16}(?:\.\d{10}-[0-9a-f]{16}){0,2}$/;

/** Returns the ids of the child keys of a chain, the one below the key first: `a.b` has `a` and `a.b`. */
export function listChain(path: string): string[] {
  const chain: string[] = [];
  for (let end = path.indexOf('.'); end !== -1; end = path.indexOf('.', end + 1)) chain.push(path.slice(0, end));
  return [...chain, path];
}

/** Returns the time from which on a child key is refused, in milliseconds. None of its chain ends before it. */
export function readChildEnd(path: string): number {
  const start = path.lastIndexOf('.') + 1;
  return Number(path.slice(start, path.indexOf('-', start))) * 1_000;
}

/** True for the child key `ancestor` and all below it. */
export function isBelowChild(path: string, ancestor: string): boolean {
  return path.startsWith(ancestor) && (path.length === ancestor.length || path[ancestor.length] === '.');
}

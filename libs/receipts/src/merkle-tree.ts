import { hash } from 'node:crypto';

/** One byte before what is hashed keeps a node from being taken for a leaf, as in RFC 9162. */
const LEAF = Buffer.from([0]);
const NODE = Buffer.from([1]);

/** A sibling on the way from a leaf to the root: `L` or `R` for its side, and its hash. */
export const STEP = /^[LR][0-9a-f]{64}$/;
/** Steps of a tree with more leaves than any month has. */
export const STEPS_MAX = 64;

export function sha256(...parts: Uint8Array[]): Buffer {
  return hash('sha256', parts.length === 1 ? (parts[0] as Uint8Array) : Buffer.concat(parts), 'buffer');
}

export function hashLeaf(line: string | Uint8Array): Buffer {
  return sha256(LEAF, typeof line === 'string' ? Buffer.from(line) : line);
}

export function hashNode(left: Uint8Array, right: Uint8Array): Buffer {
  return sha256(NODE, left, right);
}

/** Root of a tree without leaves. */
export const EMPTY_ROOT = sha256(Buffer.alloc(0));

/** Computes the root of the tree of RFC 9162 over leaves that come one after another. Keeps one hash for each level. */
export class TreeHasher {
  /** Root of the perfect tree of 2^level leaves that waits for a tree of its size. */
  private readonly waiting: (Buffer | undefined)[] = [];

  add(leaf: Buffer): void {
    let joined = leaf;
    let at = 0;
    for (let left = this.waiting[at]; left; left = this.waiting[at]) {
      joined = hashNode(left, joined);
      this.waiting[at] = undefined;
      at += 1;
    }
    this.waiting[at] = joined;
  }

  root(): Buffer {
    const root = this.waiting.reduce<Buffer | undefined>((right, left) => {
      if (!left) return right;
      return right ? hashNode(left, right) : left;
    }, undefined);
    return root ?? EMPTY_ROOT;
  }
}

/** Returns the root of the tree over `nodes`. Roots of parts of one size, a power of two, join to the root over all of their leaves. */
export function joinRoots(nodes: readonly Buffer[]): Buffer {
  let level = nodes;
  while (level.length > 1) level = pairUp(level);
  return level[0] ?? EMPTY_ROOT;
}

/** Returns the steps from the node at `index` to the root of the tree over `nodes`. */
export function makePath(nodes: readonly Buffer[], index: number): string[] {
  const steps: string[] = [];
  let level = nodes;
  for (let at = index; level.length > 1; at >>= 1) {
    const sibling = level[at ^ 1];
    if (sibling) steps.push(`${at & 1 ? 'L' : 'R'}${sibling.toString('hex')}`);
    level = pairUp(level);
  }
  return steps;
}

/** Returns the steps from each node to the root of the tree over `nodes`. Nodes with the same sibling share its text. */
export function makePaths(nodes: readonly Buffer[]): string[][] {
  const paths: string[][] = nodes.map(() => []);
  let level = nodes;
  for (let height = 0; level.length > 1; height += 1) {
    const steps = level.map((node, at) => `${at & 1 ? 'R' : 'L'}${node.toString('hex')}`);
    for (const [index, path] of paths.entries()) {
      const step = steps[(index >> height) ^ 1];
      if (step !== undefined) path.push(step);
    }
    level = pairUp(level);
  }
  return paths;
}

/** A last node without a sibling goes up as it is: the tree is then that of RFC 9162. */
function pairUp(level: readonly Buffer[]): Buffer[] {
  const above: Buffer[] = [];
  for (let at = 0; at < level.length; at += 2) {
    const [left, right] = [level[at] as Buffer, level[at + 1]];
    above.push(right ? hashNode(left, right) : left);
  }
  return above;
}

/** Returns the root that the steps lead to. Their form was checked. */
export function climb(leaf: Buffer, steps: readonly string[]): Buffer {
  return steps.reduce<Buffer>((node, step) => {
    const sibling = Buffer.from(step.slice(1), 'hex');
    return step.startsWith('L') ? hashNode(sibling, node) : hashNode(node, sibling);
  }, leaf);
}

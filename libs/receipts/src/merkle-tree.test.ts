import fc from 'fast-check';
import { testCases } from '#testing/long-run.js';
import { climb, EMPTY_ROOT, hashLeaf, hashNode, joinRoots, makePath, makePaths, sha256, TreeHasher } from './merkle-tree.js';

const leaves = (count: number): Buffer[] => Array.from({ length: count }, (_, number) => hashLeaf(`leaf ${number}`));

/** The definition of RFC 9162, word by word. */
function definedRoot(nodes: readonly Buffer[]): Buffer {
  if (nodes.length <= 1) return nodes[0] ?? sha256(Buffer.alloc(0));
  const half = 2 ** Math.ceil(Math.log2(nodes.length) - 1);
  return hashNode(definedRoot(nodes.slice(0, half)), definedRoot(nodes.slice(half)));
}

const count = fc.integer({ min: 1, max: 300 });

const RUNS = { usual: 60, long: 2_000 };

testCases('roots are those of RFC 9162, however they are computed', RUNS, count, (count) => {
  const nodes = leaves(count);
  const hasher = new TreeHasher();
  for (const node of nodes) hasher.add(node);
  const expected = definedRoot(nodes);
  expect([joinRoots(nodes), hasher.root()]).toEqual([expected, expected]);
});

test('known hashes of RFC 9162: of no leaf, and of an empty one', () => {
  expect([joinRoots([]), new TreeHasher().root()]).toEqual([EMPTY_ROOT, EMPTY_ROOT]);
  expect(EMPTY_ROOT.toString('hex')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
  expect(hashLeaf('').toString('hex')).toBe('6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d');
});

testCases(
  'each path leads to the root, within a part and from the part on too',
  RUNS,
  fc.tuple(count, fc.nat(), fc.integer({ min: 0, max: 5 })),
  ([count, chosen, partLevel]) => {
    const nodes = leaves(count);
    const index = chosen % count;
    const path = makePath(nodes, index);
    expect(makePaths(nodes)[index]).toEqual(path);
    expect(climb(nodes[index] as Buffer, path)).toEqual(joinRoots(nodes));
    const size = 2 ** partLevel;
    const parts = Array.from({ length: Math.ceil(count / size) }, (_, part) => nodes.slice(part * size, (part + 1) * size));
    const part = Math.floor(index / size);
    expect([...makePath(parts[part] ?? [], index % size), ...makePath(parts.map(joinRoots), part)]).toEqual(path);
  },
);

testCases(
  'neither another leaf, nor another step, nor a node taken for a leaf leads to the root',
  RUNS,
  fc.tuple(fc.integer({ min: 2, max: 100 }), fc.nat(), fc.nat()),
  ([count, chosen, step]) => {
    const nodes = leaves(count);
    const index = chosen % count;
    const path = makePath(nodes, index);
    const root = joinRoots(nodes);
    const turned = path.map((text, at) => (at === step % path.length ? `${text.startsWith('L') ? 'R' : 'L'}${text.slice(1)}` : text));
    const children = Buffer.concat([nodes[0] as Buffer, nodes[1] as Buffer]);
    for (const [leaf, steps] of [
      [hashLeaf('another'), path],
      [nodes[index] as Buffer, turned],
      [nodes[index] as Buffer, path.slice(1)],
      [hashLeaf(children), makePath(nodes, 0).slice(1)],
    ] as const)
      expect(climb(leaf, steps)).not.toEqual(root);
  },
);

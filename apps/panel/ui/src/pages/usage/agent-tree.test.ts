import { listAgentTree } from './agent-tree.js';
import type { GroupSum } from './sums.js';

function agent(id: string, cost: bigint, parentAgent?: string): GroupSum {
  const sum = { id, requests: 1, promptTokens: 0, cachedTokens: 0, writtenTokens: 0, outputTokens: 0, units: 0, cost };
  return parentAgent === undefined ? sum : { ...sum, parentAgent };
}

const places = (sums: GroupSum[]) => listAgentTree(sums).map(({ id, depth, treeCost }) => [id, depth, treeCost]);

test('agents come below the one that started them, the most expensive tree first', () => {
  const sums = [agent('alone', 4n), agent('main', 1n), agent('small', 1n, 'main'), agent('large', 2n, 'main'), agent('leaf', 3n, 'small')];
  expect(places(sums)).toEqual([
    ['main', 0, 7n],
    ['small', 1, 4n],
    ['leaf', 2, 3n],
    ['large', 1, 2n],
    ['alone', 0, 4n],
  ]);
});

test('an agent whose parent is not in the list begins a tree, and so does one that names itself', () => {
  expect(places([agent('child', 1n, 'gone'), agent('own', 2n, 'own')])).toEqual([
    ['own', 0, 2n],
    ['child', 0, 1n],
  ]);
});

test('agents that started one another are there once, and the first begins', () => {
  expect(places([agent('a', 1n, 'b'), agent('b', 2n, 'a'), agent('c', 4n, 'b')])).toEqual([
    ['a', 0, 7n],
    ['b', 1, 6n],
    ['c', 2, 4n],
  ]);
});

test('a chain of ten thousand agents has a place for each', () => {
  const chain = Array.from({ length: 10_000 }, (_, index) => agent(`${index}`, 1n, `${index - 1}`));
  expect(listAgentTree(chain.toReversed()).map(({ depth, treeCost }) => [depth, treeCost])).toEqual(
    chain.map((_, index) => [index, BigInt(10_000 - index)]),
  );
});

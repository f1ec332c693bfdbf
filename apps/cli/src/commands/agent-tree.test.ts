import fc from 'fast-check';
import type { UsageRow } from '#contracts/billing/usage.js';
import { listAgentTree } from './agent-tree.js';

const COUNTS = { estimatedRequests: 0, promptTokens: 0, cachedTokens: 0, outputTokens: 0, reasoningTokens: 0, forfeitedPicoUsd: '0' };

function row(agent: string | null, parentAgent: string | undefined, cost: number, also: Partial<UsageRow> = {}): UsageRow {
  return { agent, ...(parentAgent !== undefined && { parentAgent }), requests: 1, costPicoUsd: String(cost), ...COUNTS, ...also };
}

const outline = (rows: UsageRow[]) =>
  listAgentTree(rows).map(({ row, depth, tree }) => [row.agent, depth, tree.requests, Number(tree.costPicoUsd)]);

test('agents come below the agent that started them, the most expensive tree first', () => {
  const rows = [row(null, undefined, 5), row('a', undefined, 1), row('b', 'a', 2), row('c', 'a', 3), row('d', 'b', 4)];
  expect(outline(rows)).toEqual([
    ['a', 0, 4, 10],
    ['b', 1, 2, 6],
    ['d', 2, 1, 4],
    ['c', 1, 1, 3],
    [null, 0, 1, 5],
  ]);
});

test('an agent whose parent used nothing begins a tree', () => {
  expect(outline([row('b', 'gone', 2)])).toEqual([['b', 0, 1, 2]]);
});

test('agents that started one another are one tree, which one of them begins', () => {
  expect(outline([row('a', 'b', 1), row('b', 'a', 2), row('c', 'b', 4)])).toEqual([
    ['a', 0, 3, 7],
    ['b', 1, 2, 6],
    ['c', 2, 1, 4],
  ]);
});

test('agents of the same name in two sessions are two trees', () => {
  const rows = ['s1', 's2'].flatMap((session) => [row('a', undefined, 1, { session }), row('b', 'a', 2, { session })]);
  expect(outline(rows)).toEqual([
    ['a', 0, 2, 3],
    ['b', 1, 1, 2],
    ['a', 0, 2, 3],
    ['b', 1, 1, 2],
  ]);
});

test('a chain of as many agents as a page has is a tree', () => {
  const rows = Array.from({ length: 1_000 }, (_, at) => row(`a${at}`, at === 0 ? undefined : `a${at - 1}`, 1));
  expect(outline(rows).at(0)).toEqual(['a0', 0, 1_000, 1_000]);
});

const agents = fc.uniqueArray(
  fc.record({ agent: fc.option(fc.nat(9)), parent: fc.option(fc.nat(12), { nil: undefined }), cost: fc.integer({ min: -5, max: 50 }) }),
  { selector: ({ agent }) => agent, maxLength: 11 },
);

test('whoever started whom, each row is there once, below its parent, and nothing is counted twice', () => {
  fc.assert(
    fc.property(agents, (drawn) => {
      const rows = drawn.map(({ agent, parent, cost }) =>
        row(agent === null ? null : `${agent}`, parent === undefined ? parent : `${parent}`, cost),
      );
      const listed = listAgentTree(rows);
      expect(new Set(listed.map((one) => one.row))).toEqual(new Set(rows));
      expect(listed).toHaveLength(rows.length);
      const above: typeof listed = [];
      for (const one of listed) {
        above.length = one.depth;
        if (one.depth > 0) expect(one.row.parentAgent).toBe(above[one.depth - 1]?.row.agent);
        above.push(one);
      }
      listed.forEach((one, at) => {
        const end = listed.findIndex(({ depth }, other) => other > at && depth <= one.depth);
        const whole = listed.slice(at, end < 0 ? undefined : end);
        expect(one.tree).toEqual({
          requests: whole.length,
          costPicoUsd: whole.reduce((sum, { row }) => sum + BigInt(row.costPicoUsd), 0n),
        });
      });
    }),
  );
});

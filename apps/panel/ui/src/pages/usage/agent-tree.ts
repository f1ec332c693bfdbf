import type { GroupSum } from './sums.js';

export interface AgentSum extends GroupSum {
  /** 0: started by no agent of the list. */
  depth: number;
  /** Cost of the agent with all agents below it. */
  treeCost: bigint;
}

/**
 * Orders agents so that each comes below the agent that started it, the most expensive tree first. Each is there once: names are the client's,
 * so agents that started one another begin with the first. Without recursion, because a client may name a chain of any length.
 */
export function listAgentTree(sums: readonly GroupSum[]): AgentSum[] {
  const agents = new Map(sums.map((sum) => [sum.id, { ...sum, depth: 0, treeCost: sum.cost }]));
  const isRoot = ({ id, parentAgent }: GroupSum): boolean => parentAgent === undefined || parentAgent === id || !agents.has(parentAgent);
  const started = Map.groupBy(
    [...agents.values()].filter((agent) => !isRoot(agent)),
    ({ parentAgent }) => parentAgent,
  );
  const findChildren = ({ id }: GroupSum): readonly AgentSum[] => started.get(id) ?? [];
  const roots: AgentSum[] = [];
  const placed: AgentSum[] = [];
  const seen = new Set<string>();
  // Those that no root leads to are in a circle.
  for (const first of [...[...agents.values()].filter(isRoot), ...agents.values()]) {
    if (seen.has(first.id)) continue;
    roots.push(first);
    for (const agent of walk(first, findChildren, seen)) placed.push(agent);
  }
  const ownRoots = new Set(roots);
  for (const agent of placed.toReversed()) {
    const parent = ownRoots.has(agent) ? undefined : agents.get(agent.parentAgent ?? '');
    if (parent) parent.treeCost += agent.treeCost;
  }
  for (const children of [roots, ...started.values()]) children.sort(byCost);
  const listed = new Set<string>();
  return roots.flatMap((root) => [...walk(root, (agent) => findChildren(agent).filter((child) => !ownRoots.has(child)), listed)]);
}

/** Goes through a tree from the top, each agent before those that it started, and says how deep each is. */
function* walk(root: AgentSum, findChildren: (agent: AgentSum) => readonly AgentSum[], seen: Set<string>): Generator<AgentSum> {
  const open = [{ agent: root, depth: 0 }];
  for (let next = open.pop(); next; next = open.pop()) {
    const { agent, depth } = next;
    if (seen.has(agent.id)) continue;
    seen.add(agent.id);
    agent.depth = depth;
    yield agent;
    for (const child of findChildren(agent).toReversed()) open.push({ agent: child, depth: depth + 1 });
  }
}

function byCost(one: AgentSum, other: AgentSum): number {
  return one.treeCost === other.treeCost ? 0 : one.treeCost > other.treeCost ? -1 : 1;
}

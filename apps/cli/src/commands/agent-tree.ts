import type { UsageRow } from '#contracts/billing/usage.js';

/** Usage of an agent at its place in the tree. */
export interface AgentRow {
  row: UsageRow;
  /** 0: no row has its parent. */
  depth: number;
  /** Sums of the agent with all agents below it. */
  tree: { requests: number; costPicoUsd: bigint };
}

interface Node {
  row: UsageRow;
  parent: Node | undefined;
  children: Node[];
  tree: AgentRow['tree'];
}

/**
 * Orders usage by agent so that agents come below the agent that started them, the most expensive tree first. Each row is there once: names
 * are the client's, so one agent of a cycle counts as the first. Only rows that are equal in what else they are grouped by are one tree.
 */
export function listAgentTree(rows: readonly UsageRow[]): AgentRow[] {
  const nodes = rows.map((row): Node => ({ row, parent: undefined, children: [], tree: ownSums(row) }));
  const named = new Map(nodes.filter(({ row }) => row.agent != null).map((node) => [placeOf(node.row, node.row.agent), node]));
  for (const node of nodes) {
    const { row } = node;
    node.parent = row.parentAgent === undefined ? undefined : named.get(placeOf(row, row.parentAgent));
  }
  for (const node of nodes) if (isOwnAncestor(node)) node.parent = undefined;
  for (const node of nodes) node.parent?.children.push(node);
  const roots = nodes.filter(({ parent }) => parent === undefined);
  for (const root of roots) addUp(root);
  return inOrder(roots, 0);
}

function ownSums({ requests, costPicoUsd }: UsageRow): AgentRow['tree'] {
  return { requests, costPicoUsd: BigInt(costPicoUsd) };
}

function placeOf(
  { start, accountId, projectId, keyId, model, upstream, ending, user, tag, client, session }: UsageRow,
  agent: unknown,
): string {
  return JSON.stringify([start, accountId, projectId, keyId, model, upstream, ending, user, tag, client, session, agent]);
}

function isOwnAncestor(node: Node): boolean {
  const seen = new Set<Node>();
  for (let at = node.parent; at && !seen.has(at); at = at.parent) {
    if (at === node) return true;
    seen.add(at);
  }
  return false;
}

function addUp(node: Node): void {
  for (const child of node.children) {
    addUp(child);
    node.tree.requests += child.tree.requests;
    node.tree.costPicoUsd += child.tree.costPicoUsd;
  }
}

function inOrder(nodes: Node[], depth: number): AgentRow[] {
  return nodes.sort(byCost).flatMap(({ row, tree, children }) => [{ row, depth, tree }, ...inOrder(children, depth + 1)]);
}

function byCost({ tree: one }: Node, { tree: other }: Node): number {
  const difference = other.costPicoUsd - one.costPicoUsd;
  return difference === 0n ? other.requests - one.requests : difference > 0n ? 1 : -1;
}

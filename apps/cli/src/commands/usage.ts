import { ALL_SETTLE_REASONS } from '#contracts/billing/holds.js';
import {
  USAGE_GROUPS,
  USAGE_STEPS,
  type UsageQueryReply,
  type UsageQueryRequest,
  type UsageRow,
  usageQuery,
  usageRebuild,
} from '#contracts/billing/usage.js';
import type { Messaging } from '#messaging/messaging.js';
import { command } from '../command.js';
import type { Resource } from '../id-lists.js';
import { type Names, readNames } from '../names.js';
import { accountId, cursor, keyId, oneOf, optional, projectId, someOf, text, wholeNumber } from '../parameters.js';
import { morePages, renderDollars, renderTable } from '../render.js';
import { readRange, TIME_RANGE } from '../time-range.js';
import { readUnits, renderUnits } from '../units.js';
import { type AgentRow, listAgentTree } from './agent-tree.js';

const LIMIT_MAX = 1_000;
const USAGE_MS = 30_000;

export const usageCommands = [
  command({
    name: 'usage',
    summary: 'Show requests, tokens and costs of an account or of all, by time, project, key, model and more',
    parameters: {
      account: optional(accountId, 'only this account; default: all together. By user, tag, client or session it is needed'),
      ...TIME_RANGE,
      step: optional(oneOf(USAGE_STEPS, 'step'), 'one row for each hour or day in UTC'),
      by: optional(someOf(USAGE_GROUPS, 'what'), `one row for each value of these, separated by commas: ${USAGE_GROUPS.join(', ')}`),
      tag: optional(text(64, 'name'), 'name of the tag, with --by tag'),
      project: optional(projectId, 'only this project'),
      key: optional(keyId, 'only this key'),
      model: optional(text(256, 'model'), 'only this model'),
      upstream: optional(text(256, 'upstream'), 'only this upstream'),
      ending: optional(oneOf(ALL_SETTLE_REASONS, 'ending'), 'only requests that ended like this'),
      limit: optional(wholeNumber(1, LIMIT_MAX), `rows on a page; default ${LIMIT_MAX}, with --step 100`),
      cursor,
    },
    examples: [
      'usage --by model',
      'usage --since 2h --by key',
      'usage --account acme --from 2027-01-01 --step day --by model',
      'usage --account acme --by user,model',
      'usage --account acme --by tag,key --tag team',
      'usage --account acme --by session,agent',
      'usage --account acme --from 2027-01-01 --json',
    ],
    endpoint: usageQuery,
    request: ({ account, from, since, to, by, project, key, limit, ...rest }) => ({
      accountId: account,
      ...readRange({ from, since, to }),
      groupBy: by,
      projectId: project,
      keyId: key,
      // Rows that are sorted by cost should be on one page.
      limit: limit ?? (rest.step === undefined && by !== undefined ? LIMIT_MAX : undefined),
      ...rest,
    }),
    lookUp: async (reply, messaging, request) => {
      const reading = [
        readNames(messaging, namedIn(reply.rows), { accountId: request.accountId }),
        readTotal(reply, messaging, request),
        reply.rows.some(({ model, quantity }) => model && quantity) ? readUnits(messaging) : Promise.resolve(new Map<string, string>()),
      ] as const;
      const [names, total, units] = await Promise.all(reading);
      return { names, total, units, isWhole: isWhole(reply, request) };
    },
    render: renderUsage,
    timeoutMs: USAGE_MS,
  }),
  command({
    name: 'usage rebuild',
    summary: 'Rebuild the rollups of usage from the journal, after a violation of I12',
    parameters: {},
    examples: ['usage rebuild'],
    endpoint: usageRebuild,
    request: () => ({}),
    render: ({ hours, days, from, milliseconds }) =>
      `rebuilt ${hours} rows by hour and ${days} by day${from === null ? '' : ` from ${from} on, all before is of detached months,`} in ${milliseconds} ms`,
    timeoutMs: 600_000,
  }),
];

/** Resources whose ids the rows have. */
function namedIn([first]: readonly UsageRow[]): Resource[] {
  return (['account', 'project', 'key'] as const).filter((resource) => first?.[`${resource}Id`]);
}

/** True when all rows are on this page. */
function isWhole({ nextCursor }: UsageQueryReply, { cursor }: UsageQueryRequest): boolean {
  return nextCursor === null && cursor === undefined;
}

/** Returns the sum of the rows, or of all where they are not on one page. */
async function readTotal(reply: UsageQueryReply, messaging: Messaging, request: UsageQueryRequest): Promise<UsageRow> {
  const { rows, from, to } = reply;
  if (isWhole(reply, request)) return sumUsage(rows);
  const { step, groupBy, tag, limit, cursor, ...whole } = request;
  const total = await messaging.request(usageQuery, { ...whole, from, to }, { timeoutMs: USAGE_MS });
  return sumUsage(total.rows);
}

/** Adds up rows, in whole pico-dollars. */
function sumUsage(rows: readonly UsageRow[]): UsageRow {
  const count = (field: 'requests' | 'estimatedRequests' | 'promptTokens' | 'cachedTokens' | 'outputTokens' | 'reasoningTokens') =>
    rows.reduce((sum, row) => sum + row[field], 0);
  const money = (field: 'costPicoUsd' | 'forfeitedPicoUsd') => String(rows.reduce((sum, row) => sum + BigInt(row[field]), 0n));
  return {
    requests: count('requests'),
    estimatedRequests: count('estimatedRequests'),
    promptTokens: count('promptTokens'),
    cachedTokens: count('cachedTokens'),
    cacheWriteTokens: rows.reduce((sum, { cacheWriteTokens = 0 }) => sum + cacheWriteTokens, 0),
    cacheWrite1hTokens: rows.reduce((sum, { cacheWrite1hTokens = 0 }) => sum + cacheWrite1hTokens, 0),
    outputTokens: count('outputTokens'),
    quantity: rows.reduce((sum, { quantity = 0 }) => sum + quantity, 0),
    reasoningTokens: count('reasoningTokens'),
    costPicoUsd: money('costPicoUsd'),
    forfeitedPicoUsd: money('forfeitedPicoUsd'),
  };
}

interface LookedUp {
  names: Names;
  total: UsageRow;
  units: ReadonlyMap<string, string>;
  isWhole: boolean;
}

function renderUsage({ rows, from, nextCursor }: UsageQueryReply, { names, total, units, isWhole }: LookedUp): string {
  const [first] = rows;
  const groups = chooseGroups(first, names);
  if (first?.agent !== undefined && first.start === undefined && isWhole) return renderTree(rows, groups, { total, units });
  const [leading] = Object.keys(groups);
  if (leading === undefined) return renderTable(rows, 'no usage', chooseSums(rows, units));
  const inOrder = first?.start === undefined ? rows.toSorted(byCost) : rows;
  const shown: Shown[] = [...inOrder, { ...total, isTotal: true }];
  const table = renderTable(shown, '', { ...withTotal(groups, leading), ...chooseSums([...rows, total], units) });
  return nextCursor === null ? table : `${table}\nthe total has all rows, also those of the next pages${morePages(nextCursor, { from })}`;
}

/** Renders agents below the agent that started them, with what each used itself and with all agents below it. */
function renderTree(
  rows: readonly UsageRow[],
  { 'STARTED BY': _, ...groups }: Record<string, Group>,
  { total, units }: Pick<LookedUp, 'total' | 'units'>,
): string {
  const all = { requests: total.requests, costPicoUsd: BigInt(total.costPicoUsd) };
  const shown = [
    ...listAgentTree(rows).map(({ row, depth, tree }) => ({ ...row, depth, tree })),
    { ...total, isTotal: true as const, depth: 0, tree: all },
  ];
  const indented: Record<string, Group> = {
    ...groups,
    AGENT: ({ agent, depth = 0 }: UsageRow & { depth?: number }) => (agent == null ? null : '  '.repeat(depth) + agent),
  };
  return renderTable<Shown & Pick<AgentRow, 'tree'>>(shown, '', {
    ...withTotal(indented, Object.keys(indented)[0]),
    ...chooseSums(shown, units),
    'TREE REQUESTS': ({ tree }) => tree.requests,
    'TREE COST': ({ tree }) => renderDollars(String(tree.costPicoUsd)),
  });
}

/** Returns the columns with a word for the total. */
function withTotal(groups: Record<string, Group>, leading: string | undefined): Record<string, (row: Shown) => string | null> {
  const cell = (heading: string, read: Group) => (row: Shown) => (row.isTotal ? (heading === leading ? 'all' : '') : read(row));
  return Object.fromEntries(Object.entries(groups).map(([heading, read]) => [heading, cell(heading, read)]));
}

function byCost(one: UsageRow, other: UsageRow): number {
  const difference = BigInt(other.costPicoUsd) - BigInt(one.costPicoUsd);
  return difference === 0n ? other.requests - one.requests : difference > 0n ? 1 : -1;
}

type Shown = UsageRow & { isTotal?: true };
type Group = (row: UsageRow) => string | null;
type Columns = Record<string, (row: UsageRow) => string | number | null>;

function chooseGroups(first: UsageRow | undefined, names: Names): Record<string, Group> {
  return {
    ...(first?.start && { FROM: ({ start }) => start ?? null }),
    ...(first?.accountId && { ACCOUNT: ({ accountId }) => names('account', accountId ?? null) }),
    ...(first?.projectId && { PROJECT: ({ projectId }) => names('project', projectId ?? null) }),
    ...(first?.keyId && { KEY: ({ keyId }) => names('key', keyId ?? null) }),
    ...(first?.model && { MODEL: ({ model }) => model ?? null }),
    ...(first?.upstream !== undefined && { UPSTREAM: ({ upstream }) => upstream ?? null }),
    ...(first?.ending && { ENDING: ({ ending }) => ending ?? null }),
    ...(first?.user !== undefined && { USER: ({ user }) => user ?? null }),
    ...(first?.tag !== undefined && { TAG: ({ tag }) => tag ?? null }),
    ...(first?.client !== undefined && { CLIENT: ({ client }) => client ?? null }),
    ...(first?.child !== undefined && { 'CHILD KEY': ({ child }) => child ?? null }),
    ...(first?.session !== undefined && { SESSION: ({ session }) => session ?? null }),
    ...(first?.agent !== undefined && {
      AGENT: ({ agent }) => agent ?? null,
      'STARTED BY': ({ parentAgent }) => parentAgent ?? null,
    }),
  } satisfies Record<string, Group>;
}

/** `units` are those of the items, by their names. */
function chooseSums(rows: readonly UsageRow[], units: ReadonlyMap<string, string>): Columns {
  return {
    REQUESTS: ({ requests }) => requests,
    ESTIMATED: ({ estimatedRequests }) => estimatedRequests,
    PROMPT: ({ promptTokens }) => promptTokens,
    CACHED: ({ cachedTokens }) => cachedTokens,
    ...(rows.some(({ cacheWriteTokens }) => cacheWriteTokens) && { WRITTEN: ({ cacheWriteTokens = 0 }) => cacheWriteTokens }),
    ...(rows.some(({ cacheWrite1hTokens }) => cacheWrite1hTokens) && { 'WRITTEN 1H': ({ cacheWrite1hTokens = 0 }) => cacheWrite1hTokens }),
    OUTPUT: ({ outputTokens }) => outputTokens,
    REASONING: ({ reasoningTokens }) => reasoningTokens,
    ...(rows.some(({ quantity }) => quantity) && { UNITS: ({ quantity = 0, model }) => renderUnits(quantity, units.get(model ?? '')) }),
    COST: ({ costPicoUsd }) => renderDollars(costPicoUsd),
    ...(rows.some(({ forfeitedPicoUsd }) => forfeitedPicoUsd !== '0') && { FORFEITED: (row) => renderDollars(row.forfeitedPicoUsd) }),
  } satisfies Columns;
}

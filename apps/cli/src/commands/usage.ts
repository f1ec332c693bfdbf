import { ALL_SETTLE_REASONS } from '#contracts/billing/holds.js';
import { USAGE_GROUPS, USAGE_STEPS, type UsageRow, usageQuery, usageRebuild } from '#contracts/billing/usage.js';
import { command } from '../command.js';
import { accountId, cursor, keyId, oneOf, optional, projectId, someOf, text, wholeNumber } from '../parameters.js';
import { morePages, renderDollars, renderTable } from '../render.js';
import { defaultFrom, TIME_RANGE } from '../time-range.js';

export const usageCommands = [
  command({
    name: 'usage',
    summary: 'Show requests, tokens and costs of an account or of all, by time, project, key, model and more',
    parameters: {
      account: optional(accountId, 'only this account; default: all together'),
      ...TIME_RANGE,
      step: optional(oneOf(USAGE_STEPS, 'step'), 'one row for each hour or day in UTC'),
      by: optional(someOf(USAGE_GROUPS, 'what'), `one row for each value of these, separated by commas: ${USAGE_GROUPS.join(', ')}`),
      tag: optional(text(64, 'name'), 'name of the tag, with --by tag'),
      project: optional(projectId, 'only this project'),
      key: optional(keyId, 'only this key'),
      model: optional(text(256, 'model'), 'only this model'),
      upstream: optional(text(256, 'upstream'), 'only this upstream'),
      ending: optional(oneOf(ALL_SETTLE_REASONS, 'ending'), 'only requests that ended like this'),
      limit: optional(wholeNumber(1, 1_000), 'rows on a page; default 100'),
      cursor,
    },
    examples: [
      'usage --by model',
      'usage --account <account-id> --from 2027-01-01 --step day --by model',
      'usage --account <account-id> --by user,model',
      'usage --account <account-id> --by tag,key --tag team',
      'usage --account <account-id> --from 2027-01-01 --json',
    ],
    endpoint: usageQuery,
    request: ({ account, from, to, by, project, key, ...rest }) => ({
      accountId: account,
      from: from ?? defaultFrom(to),
      to,
      groupBy: by,
      projectId: project,
      keyId: key,
      ...rest,
    }),
    render: ({ rows, nextCursor }) => renderTable(rows, 'no usage', chooseColumns(rows)) + morePages(nextCursor),
    timeoutMs: 30_000,
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

type Columns = Record<string, (row: UsageRow) => string | number | null>;

/** The groups, then the sums. */
function chooseColumns(rows: readonly UsageRow[]): Columns {
  const [first] = rows;
  return {
    ...(first?.start && { FROM: ({ start }) => start ?? null }),
    ...(first?.accountId && { ACCOUNT: ({ accountId }) => accountId ?? null }),
    ...(first?.projectId && { PROJECT: ({ projectId }) => projectId ?? null }),
    ...(first?.keyId && { KEY: ({ keyId }) => keyId ?? null }),
    ...(first?.model && { MODEL: ({ model }) => model ?? null }),
    ...(first?.upstream !== undefined && { UPSTREAM: ({ upstream }) => upstream ?? null }),
    ...(first?.ending && { ENDING: ({ ending }) => ending ?? null }),
    ...(first?.user !== undefined && { USER: ({ user }) => user ?? null }),
    ...(first?.tag !== undefined && { TAG: ({ tag }) => tag ?? null }),
    ...(first?.client !== undefined && { CLIENT: ({ client }) => client ?? null }),
    ...(first?.session !== undefined && { SESSION: ({ session }) => session ?? null }),
    REQUESTS: ({ requests }) => requests,
    ESTIMATED: ({ estimatedRequests }) => estimatedRequests,
    PROMPT: ({ promptTokens }) => promptTokens,
    CACHED: ({ cachedTokens }) => cachedTokens,
    ...(rows.some(({ cacheWriteTokens }) => cacheWriteTokens) && { WRITTEN: ({ cacheWriteTokens = 0 }) => cacheWriteTokens }),
    ...(rows.some(({ cacheWrite1hTokens }) => cacheWrite1hTokens) && { 'WRITTEN 1H': ({ cacheWrite1hTokens = 0 }) => cacheWrite1hTokens }),
    OUTPUT: ({ outputTokens }) => outputTokens,
    REASONING: ({ reasoningTokens }) => reasoningTokens,
    COST: ({ costPicoUsd }) => renderDollars(costPicoUsd),
    ...(rows.some(({ forfeitedPicoUsd }) => forfeitedPicoUsd !== '0') && { FORFEITED: (row) => renderDollars(row.forfeitedPicoUsd) }),
  } satisfies Columns;
}

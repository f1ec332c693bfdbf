import { USAGE_GROUPS, USAGE_STEPS, type UsageRow, usageQuery } from '#contracts/billing/usage.js';
import { command } from '../command.js';
import { cursor, id, instant, oneOf, optional, required, someOf, text, wholeNumber } from '../parameters.js';
import { morePages, renderDollars, renderTable } from '../render.js';

export const usageCommands = [
  command({
    name: 'usage',
    summary: 'Show requests, tokens and costs of an account, by time, project, key and model',
    parameters: {
      account: required(id, 'id of the account'),
      from: required(instant, 'start time, inclusive'),
      to: optional(instant, 'end time, exclusive; default: now'),
      step: optional(oneOf(USAGE_STEPS, 'step'), 'one row for each hour or day in UTC'),
      by: optional(someOf(USAGE_GROUPS, 'what'), `one row for each value of these, separated by commas: ${USAGE_GROUPS.join(', ')}`),
      project: optional(id, 'only this project'),
      key: optional(id, 'only this key'),
      model: optional(text(256, 'model'), 'only this model'),
      limit: optional(wholeNumber(1, 1_000), 'rows on a page; default 100'),
      cursor,
    },
    examples: [
      'usage --account <account-id> --from 2027-01-01 --step day --by model',
      'usage --account <account-id> --from 2027-01-01 --json',
    ],
    endpoint: usageQuery,
    request: ({ account, by, project, key, ...rest }) => ({ accountId: account, groupBy: by, projectId: project, keyId: key, ...rest }),
    render: ({ rows, nextCursor }) => renderTable(rows, columnsOf(rows), 'no usage') + morePages(nextCursor),
    timeoutMs: 15_000,
  }),
];

type Columns = Record<string, (row: UsageRow) => string | number | null>;

/** The groups, then the sums. */
function columnsOf(rows: readonly UsageRow[]): Columns {
  const [first] = rows;
  return {
    ...(first?.start && { FROM: ({ start }) => start ?? null }),
    ...(first?.projectId && { PROJECT: ({ projectId }) => projectId ?? null }),
    ...(first?.keyId && { KEY: ({ keyId }) => keyId ?? null }),
    ...(first?.model && { MODEL: ({ model }) => model ?? null }),
    REQUESTS: ({ requests }) => requests,
    ESTIMATED: ({ estimatedRequests }) => estimatedRequests,
    PROMPT: ({ promptTokens }) => promptTokens,
    CACHED: ({ cachedTokens }) => cachedTokens,
    OUTPUT: ({ outputTokens }) => outputTokens,
    REASONING: ({ reasoningTokens }) => reasoningTokens,
    COST: ({ costPicoUsd }) => renderDollars(costPicoUsd),
    ...(rows.some(({ forfeitedPicoUsd }) => forfeitedPicoUsd !== '0') && { FORFEITED: (row) => renderDollars(row.forfeitedPicoUsd) }),
  } satisfies Columns;
}

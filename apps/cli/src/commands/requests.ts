import { loadConfig } from '#config/load-config.js';
import { ALL_SETTLE_REASONS, holdList } from '#contracts/billing/holds.js';
import { requestList, requestShow } from '#contracts/billing/requests.js';
import { CliConfig } from '../cli.config.js';
import { command } from '../command.js';
import { accountId, argument, cursor, instant, keyId, oneOf, optional, projectId, text, wholeNumber } from '../parameters.js';
import { morePages, renderDollars, renderTable } from '../render.js';
import { renderRequest } from './request-report.js';

export const requestCommands = [
  command({
    name: 'holds list',
    summary: 'List the open holds of running requests, oldest first',
    parameters: { account: optional(accountId, 'only holds of this account'), cursor },
    examples: ['holds list', 'holds list --account <account-id>'],
    endpoint: holdList,
    request: ({ account, ...rest }) => ({ accountId: account, ...rest }),
    render: ({ holds, nextCursor }) =>
      renderTable(holds, 'no open holds', {
        HOLD: (row) => row.holdId,
        REQUEST: (row) => row.requestId,
        ACCOUNT: (row) => row.accountId,
        MODEL: (row) => row.model,
        AMOUNT: (row) => renderDollars(row.amountPicoUsd),
        SINCE: (row) => row.createdAt,
        'LEASE UNTIL': (row) => row.leaseUntil,
      }) + morePages(nextCursor),
  }),
  command({
    name: 'request list',
    summary: 'List requests, running ones first, then ended ones, newest first',
    parameters: {
      account: optional(accountId, 'only requests of this account'),
      from: optional(instant, 'start time, inclusive'),
      to: optional(instant, 'end time, exclusive'),
      project: optional(projectId, 'only this project'),
      key: optional(keyId, 'only this key'),
      model: optional(text(256, 'model'), 'only this model'),
      upstream: optional(text(256, 'upstream'), 'only this upstream'),
      ending: optional(oneOf(ALL_SETTLE_REASONS, 'ending'), 'only requests that ended like this'),
      limit: optional(wholeNumber(1, 200), 'ended requests on a page; default 100'),
      cursor,
    },
    examples: ['request list', 'request list --account <account-id> --ending failed'],
    endpoint: requestList,
    request: ({ account, project, key, ...rest }) => ({ accountId: account, projectId: project, keyId: key, ...rest }),
    render: ({ requests, nextCursor, searchedTo }) =>
      renderTable(requests, 'no requests', {
        REQUEST: (row) => row.requestId,
        ACCOUNT: (row) => row.accountId,
        MODEL: (row) => row.model,
        UPSTREAM: (row) => row.upstream,
        ENDING: (row) => row.ending ?? 'running',
        PROMPT: (row) => row.usage?.promptTokens ?? null,
        OUTPUT: (row) => row.usage?.outputTokens ?? null,
        COST: (row) => row.costPicoUsd && renderDollars(row.costPicoUsd),
        ENDED: (row) => row.settledAt,
      }) +
      (searchedTo ? `\nsearched back to ${searchedTo}` : '') +
      morePages(nextCursor),
  }),
  command({
    name: 'request show',
    summary: 'Show what one request held, used and cost, and the origin of each number',
    parameters: { requestId: argument(text(128, 'request-id'), 'the x-request-id of the reply') },
    examples: ['request show <request-id>'],
    endpoint: requestShow,
    request: ({ requestId }) => ({ requestId }),
    render: (request) => renderRequest(request, loadConfig(CliConfig).traceUrl),
  }),
];

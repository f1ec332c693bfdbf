import { holdList } from '#contracts/billing/holds.js';
import { requestShow } from '#contracts/billing/requests.js';
import { command } from '../command.js';
import { accountId, argument, cursor, optional, text } from '../parameters.js';
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
      renderTable(
        holds,
        {
          HOLD: (row) => row.holdId,
          REQUEST: (row) => row.requestId,
          ACCOUNT: (row) => row.accountId,
          MODEL: (row) => row.model,
          AMOUNT: (row) => renderDollars(row.amountPicoUsd),
          SINCE: (row) => row.createdAt,
          'LEASE UNTIL': (row) => row.leaseUntil,
        },
        'no open holds',
      ) + morePages(nextCursor),
  }),
  command({
    name: 'request show',
    summary: 'Show what one request held, used and cost, and the origin of each number',
    parameters: { requestId: argument(text(128, 'request-id'), 'the x-request-id of the reply') },
    examples: ['request show <request-id>'],
    endpoint: requestShow,
    request: ({ requestId }) => ({ requestId }),
    render: renderRequest,
  }),
];

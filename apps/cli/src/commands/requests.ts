import { holdList } from '#contracts/billing/holds.js';
import { type BilledRequest, requestShow } from '#contracts/billing/requests.js';
import { command } from '../command.js';
import { argument, id, optional, text } from '../parameters.js';
import { renderDollars, renderFields, renderMoney, renderPerMillion, renderTable } from '../render.js';
import { cursor, morePages } from './more-pages.js';

export const requestCommands = [
  command({
    name: 'holds list',
    summary: 'List what running requests hold, oldest first',
    parameters: { account: optional(id, 'only those of this account'), cursor },
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
    summary: 'Show what was held, used and charged for one request',
    parameters: { requestId: argument(text(128, 'request-id'), 'the x-request-id of the reply') },
    examples: ['request show <request-id>'],
    endpoint: requestShow,
    request: ({ requestId }) => ({ requestId }),
    render: renderRequest,
  }),
];

function renderRequest(request: BilledRequest): string {
  const { price, settlement } = request;
  const usage = settlement?.usage;
  return renderFields({
    request: request.requestId,
    hold: request.holdId,
    account: request.accountId,
    project: request.projectId,
    key: request.keyId,
    model: request.model,
    upstream: request.upstream,
    held: renderMoney(request.heldPicoUsd),
    'price per million': `${renderPerMillion(price.inputPicoUsd)} in, ${renderPerMillion(price.cachedInputPicoUsd)} cached, ${renderPerMillion(price.outputPicoUsd)} out (version ${price.version})`,
    usage: usage
      ? `${usage.promptTokens} prompt (${usage.cachedTokens} cached), ${usage.outputTokens} output (${usage.reasoningTokens} reasoning), ${usage.source}`
      : null,
    cost: settlement ? renderMoney(settlement.costPicoUsd) : null,
    state: settlement ? `settled ${settlement.settledAt}: ${settlement.reason}` : 'running',
  });
}

import { MARGIN_GROUPS, type Margin, type MarginRow, type UsageMarginReply, usageMargin } from '#contracts/billing/margin.js';
import { costList } from '#contracts/route-costs.js';
import { command } from '../command.js';
import { month, oneOf, optional } from '../parameters.js';
import { renderDollars, renderTable } from '../render.js';

export const marginCommands = [
  command({
    name: 'margin',
    summary: 'Show what the usage of a month was charged, and what it cost at the cost prices of the catalog',
    parameters: {
      month: optional(month, 'month in UTC; default this one'),
      by: optional(oneOf(MARGIN_GROUPS, 'what'), `one row for each: ${MARGIN_GROUPS.join(', ')}; default model`),
    },
    examples: ['margin', 'margin --month 2027-01 --by account', 'margin --by day --json'],
    endpoint: usageMargin,
    request: ({ month = new Date().toISOString().slice(0, 7), by = 'model' }) => ({ month, by, costs: [] }),
    prepare: async (request, _, messaging) => ({ ...request, ...(await messaging.request(costList, { month: request.month })) }),
    render: renderMargin,
    // Cost prices with steps read the journal of the month.
    timeoutMs: 600_000,
  }),
];

function renderMargin({ rows, rowCount, total, imagesUnknown }: UsageMarginReply): string {
  const [first] = rows;
  if (first === undefined) return 'no usage';
  const showsUnpriced = total.unpricedRequests !== 0 || total.unpricedChargedPicoUsd !== '0';
  const table = renderTable<Shown>([...rows, { ...total, isTotal: true }], '', {
    [first.name !== undefined ? 'ACCOUNT' : first.day !== undefined ? 'DAY' : first.upstream !== undefined ? 'UPSTREAM' : 'MODEL']:
      readGroup,
    ...(first.name !== undefined && { ID: ({ accountId }: Shown) => accountId ?? null }),
    REQUESTS: ({ requests }) => requests,
    CHARGED: ({ chargedPicoUsd }) => renderDollars(chargedPicoUsd),
    COST: ({ costPicoUsd }) => renderDollars(costPicoUsd),
    MARGIN: ({ marginPicoUsd }) => renderDollars(marginPicoUsd),
    ...(showsUnpriced && {
      UNPRICED: ({ unpricedRequests }: Shown) => unpricedRequests,
      'CHARGED FOR THEM': ({ unpricedChargedPicoUsd }: Shown) => renderDollars(unpricedChargedPicoUsd),
    }),
  });
  return [
    table,
    ...(rowCount > rows.length ? [`and ${rowCount - rows.length} more; the total has all`] : []),
    ...(showsUnpriced ? ['unpriced: requests whose route had no cost in the catalog on that day'] : []),
    ...(imagesUnknown === 0 ? [] : [`${imagesUnknown} requests are counted without images: the journal does not have their number`]),
  ].join('\n');
}

type Shown = Margin & MarginRow & { isTotal?: true };

function readGroup({ isTotal, name, day, upstream, model }: Shown): string | null {
  return isTotal ? 'all' : (name ?? day ?? upstream ?? model ?? null);
}

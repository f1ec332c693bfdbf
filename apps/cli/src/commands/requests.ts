import { loadConfig } from '#config/load-config.js';
import { ALL_SETTLE_REASONS, holdList, type SettleReason, type TokenUsage } from '#contracts/billing/holds.js';
import {
  type BilledRequest,
  type CostParts,
  type RequestBill,
  type RequestCreditNote,
  type RequestRow,
  type RequestSettlement,
  requestList,
  requestShow,
} from '#contracts/billing/requests.js';
import { REQUEST_ORDERS, REQUEST_SORTS } from '#contracts/rules/request-order.js';
import { priceUsage, type Term } from '#money/price.js';
import { parsePrice } from '#money/price-plan.js';
import { CliConfig } from '../cli.config.js';
import { command } from '../command.js';
import { readNames } from '../names.js';
import { accountId, argument, cursor, keyId, oneOf, optional, projectId, text, wholeNumber } from '../parameters.js';
import { morePages, renderDollars, renderFields, renderMoney, renderPerMillion, renderPinnedPrice, renderTable } from '../render.js';
import { readStart, TIME_FILTER } from '../time-range.js';
import { readUnits, renderUnits } from '../units.js';
import { renderMs } from './upstreams-status-report.js';

export const requestCommands = [
  command({
    name: 'holds list',
    summary: 'List the open holds of running requests, oldest first',
    parameters: { account: optional(accountId, 'only holds of this account'), cursor },
    examples: ['holds list', 'holds list --account acme'],
    endpoint: holdList,
    request: ({ account, ...rest }) => ({ accountId: account, ...rest }),
    lookUp: (_, messaging) => readNames(messaging, ['account']),
    render: ({ holds, nextCursor }, names) =>
      renderTable(holds, 'no open holds', {
        HOLD: (row) => row.holdId,
        REQUEST: (row) => row.requestId,
        ACCOUNT: (row) => names('account', row.accountId),
        MODEL: (row) => row.model,
        AMOUNT: (row) => renderDollars(row.amountPicoUsd),
        SINCE: (row) => row.createdAt,
        'LEASE UNTIL': (row) => row.leaseUntil,
      }) + morePages(nextCursor),
  }),
  command({
    name: 'request list',
    summary: 'List requests, running ones first, then ended ones, newest first; or the ended ones of a time by a value',
    parameters: {
      account: optional(accountId, 'only requests of this account'),
      ...TIME_FILTER,
      project: optional(projectId, 'only this project'),
      key: optional(keyId, 'only this key'),
      model: optional(text(256, 'model'), 'only this model'),
      upstream: optional(text(256, 'upstream'), 'only this upstream'),
      user: optional(text(256, 'user'), 'only requests of this end user'),
      tag: optional(text(200, 'tag'), 'only requests with this tag: team=search, or team'),
      ending: optional(oneOf(ALL_SETTLE_REASONS, 'ending'), 'only requests that ended like this'),
      sort: optional(
        oneOf(REQUEST_SORTS, 'value'),
        `${REQUEST_SORTS.join(', ')}; the largest first. At most 200,000 requests of a time are sorted`,
      ),
      order: optional(oneOf(REQUEST_ORDERS, 'order'), 'desc, the default, or asc: the oldest or smallest first'),
      limit: optional(wholeNumber(1, 200), 'ended requests on a page; default 100'),
      cursor,
    },
    examples: [
      'request list',
      'request list --account acme --since 2h --ending failed',
      'request list --user ada',
      'request list --since 24h --sort cost',
    ],
    endpoint: requestList,
    request: ({ account, project, key, from, since, ...rest }) => ({
      ...{ accountId: account, projectId: project, keyId: key, from: readStart({ from, since }) },
      ...rest,
    }),
    lookUp: (_, messaging) => readNames(messaging, ['account']),
    render: ({ requests, nextCursor, searchedTo }, names, request) =>
      renderTable(requests, 'no requests', {
        REQUEST: (row) => row.requestId,
        ACCOUNT: (row) => names('account', row.accountId),
        MODEL: (row) => row.model,
        UPSTREAM: (row) => row.upstream,
        ENDING: (row) => row.ending ?? 'running',
        PROMPT: (row) => row.usage?.promptTokens ?? null,
        OUTPUT: (row) => row.usage?.outputTokens ?? null,
        ...(requests.some(({ usage }) => usage?.quantity !== undefined) && { UNITS: (row: RequestRow) => row.usage?.quantity ?? null }),
        TOOK: (row) => row.settledAt && renderMs(Date.parse(row.settledAt) - Date.parse(row.reservedAt)),
        COST: (row) => row.costPicoUsd && renderDollars(row.costPicoUsd),
        ENDED: (row) => row.settledAt,
      }) +
      (searchedTo ? `\nsearched back to ${searchedTo}` : '') +
      morePages(nextCursor, request),
  }),
  command({
    name: 'request show',
    summary: 'Show what one request held, used and cost, and the origin of each number',
    parameters: { requestId: argument(text(128, 'request-id'), 'its x-request-id, or the id of its reply, hold or trace') },
    examples: ['request show <request-id>', 'request show chatcmpl-<digits>'],
    endpoint: requestShow,
    request: ({ requestId }) => ({ requestId }),
    lookUp: async ({ settlement }, messaging) => (settlement?.usage.quantity === undefined ? undefined : readUnits(messaging)),
    render: (request, units) => renderRequest(request, loadConfig(CliConfig).traceUrl, units?.get(request.model)),
  }),
];

/**
 * Renders the bill of one request: the origin of each count, the cost as a sum, and which service settled it and why. `unit` is that of an item of
 * a service.
 */
export function renderRequest(request: BilledRequest, traceUrl = 'none', unit?: string): string {
  const { price, settlement, traceId } = request;
  const isItem = settlement?.usage.quantity !== undefined;
  return renderFields({
    request: request.requestId,
    ...(traceId && { trace: traceId }),
    ...(traceId && traceUrl !== 'none' && { 'trace page': traceUrl.replaceAll('{traceId}', traceId) }),
    hold: request.holdId,
    account: request.accountId,
    project: request.projectId,
    key: request.keyId,
    [isItem ? 'item' : 'model']: request.model,
    ...request.attribution,
    [isItem ? 'service' : 'upstream']: request.upstream,
    reserved: request.reservedAt,
    held: `${renderMoney(request.heldPicoUsd)}, the most it can cost`,
    ...(isItem
      ? {
          'price of a unit': `${renderDollars(price.requestPicoUsd ?? '0')} (${price.pricePlan === undefined ? '' : `price plan ${price.pricePlan}, `}version ${price.version})`,
        }
      : { 'price per million': renderPinnedPrice(price) }),
    ...(settlement ? settlementFields(request, settlement, unit) : { state: 'running' }),
    ...(request.creditNotes.length > 0 && { 'given back': request.creditNotes.map(renderNote).join('; ') }),
  });
}

function renderNote({ amountPicoUsd, noteId, createdAt, reason }: RequestCreditNote): string {
  return `${renderMoney(amountPicoUsd)} by credit note ${noteId} of ${createdAt}: ${reason}`;
}

function settlementFields(request: BilledRequest, settlement: RequestSettlement, unit: string | undefined): Record<string, string> {
  const { usage, reason, reaped } = settlement;
  return {
    ...(usage.quantity === undefined
      ? tokenFields(request, settlement)
      : { units: renderUnits(usage.quantity, unit), cost: unitsAsSum(request, settlement, usage.quantity) }),
    ...(isPaidByPlan(settlement.paid) && { paid: renderPaid(settlement.paid) }),
    ended: REASONS[reason],
    settled: `${settlement.settledAt}${reaped ? ', late,' : ''} by ${SETTLED_BY[settlement.settledBy ?? 'unknown']}`,
    ...(reaped && { 'billed before': replacedBill(reaped, settlement) }),
  };
}

function tokenFields(request: BilledRequest, settlement: RequestSettlement): Record<string, string> {
  const { usage, reason } = settlement;
  return {
    prompt: isEmpty(usage)
      ? 'not billed'
      : `${tokens(usage.promptTokens)}, of which ${promptParts(usage)}: ${PROMPT_ORIGIN[usage.promptSource]}`,
    output: isEmpty(usage)
      ? 'not billed'
      : `${tokens(usage.outputTokens)}, of which ${usage.reasoningTokens} reasoning: ${OUTPUT_ORIGIN[usage.outputSource]}`,
    cost: isEmpty(usage) ? `${renderMoney(settlement.costPicoUsd)}: ${FREE_BECAUSE[reason]}` : costAsSum(request, settlement),
    ...(!isEmpty(usage) && appliedPrices(request, settlement)),
  };
}

/** Renders `7 × $0.002 = $0.014 (14000000000 pico)`, and what is subtracted. */
function unitsAsSum({ price, heldPicoUsd }: BilledRequest, settlement: RequestSettlement, quantity: number): string {
  const each = BigInt(price.requestPicoUsd ?? 0);
  const product = `${quantity} × ${renderDollars(String(each))} = ${renderDollars(String(BigInt(quantity) * each))}`;
  return lessUncharged(product, heldPicoUsd, settlement);
}

/** Renders `200 cached, 500 written to a cache for 5 minutes`. */
function promptParts({ cachedTokens, cacheWriteTokens = 0, cacheWrite1hTokens = 0 }: TokenUsage): string {
  return [
    `${cachedTokens} cached`,
    ...(cacheWriteTokens > 0 ? [`${cacheWriteTokens} written to a cache for 5 minutes`] : []),
    ...(cacheWrite1hTokens > 0 ? [`${cacheWrite1hTokens} written to a cache for an hour`] : []),
  ].join(', ');
}

/**
 * Renders `1000 × $0.15 + 300 × $0.60 per million tokens = $0.00033 (330000000 pico)`, what is added for the request and its images, and what
 * is subtracted.
 */
function costAsSum({ price, heldPicoUsd }: BilledRequest, settlement: RequestSettlement): string {
  const { cost, terms } = priceUsage(settlement.usage, parsePrice(price));
  const inOrder = TERM_ORDER.flatMap((of) => terms.filter((term) => term.of === of));
  const products = inOrder.flatMap(({ of, count, price: each, above }) => {
    if (of === 'requestPicoUsd' || of === 'imagePicoUsd') return [];
    return [`${count} × ${renderPerMillion(String(each))}${above === undefined ? '' : ` above ${above}`}`];
  });
  const besides = inOrder.flatMap(({ of, count, price: each }) => {
    if (of === 'requestPicoUsd') return [` + ${renderDollars(String(each))} a request`];
    return of === 'imagePicoUsd' ? [` + ${count} × ${renderDollars(String(each))} an image`] : [];
  });
  const sum = `${products.join(' + ')} per million tokens${besides.join('')} = ${renderDollars(String(cost))}`;
  return lessUncharged(sum, heldPicoUsd, settlement);
}

/** Adds to a sum what of it was not charged, and the cost. */
function lessUncharged(sum: string, heldPicoUsd: string, { costPicoUsd, overPicoUsd, writtenOffPicoUsd }: RequestSettlement): string {
  const parts = [sum];
  if (overPicoUsd !== '0') parts.push(`less ${renderDollars(overPicoUsd)} beyond the held ${renderDollars(heldPicoUsd)}`);
  if (writtenOffPicoUsd !== '0') parts.push(`less ${renderDollars(writtenOffPicoUsd)} written off, because the account had no money left`);
  return parts.length === 1 ? `${parts[0]} (${costPicoUsd} pico)` : `${parts.join(', ')} = ${renderMoney(costPicoUsd)}`;
}

const TERM_ORDER: readonly Term['of'][] = [
  ...(['inputPicoUsd', 'cachedInputPicoUsd', 'cacheWritePicoUsd', 'cacheWrite1hPicoUsd'] as const),
  ...(['outputPicoUsd', 'requestPicoUsd', 'imagePicoUsd'] as const),
];

/** Says which prices applied, of those that a price has for larger prompts and for tiers. */
function appliedPrices({ price }: BilledRequest, { usage, step }: RequestSettlement): Record<string, string> {
  const { tiers } = price;
  const { tier } = usage;
  const hasPrices = tiers?.some((prices) => prices.tier === tier);
  return {
    ...(tiers && tier !== undefined && { tier: `${tier}, as the upstream reported${hasPrices ? '' : '; the price does not name it'}` }),
    ...(step !== undefined && { step: `above ${step} tokens of prompt` }),
  };
}

function isPaidByPlan({ planPicoUsd, endedPlanPicoUsd }: CostParts): boolean {
  return planPicoUsd !== '0' || endedPlanPicoUsd !== '0';
}

function renderPaid({ planPicoUsd, topupPicoUsd, endedPlanPicoUsd }: CostParts): string {
  const parts = [
    ['the plan', planPicoUsd],
    ['a plan that has ended', endedPlanPicoUsd],
    ['top-ups', topupPicoUsd],
  ] as const;
  return parts
    .filter(([, amount]) => amount !== '0')
    .map(([from, amount]) => `${renderDollars(amount)} from ${from}`)
    .join(', ');
}

function replacedBill(reaped: RequestBill, { costPicoUsd }: RequestSettlement): string {
  const { usage, settledAt } = reaped;
  const difference = BigInt(costPicoUsd) - BigInt(reaped.costPicoUsd);
  const counts = usage.quantity
    ? `for ${usage.quantity} units`
    : isEmpty(usage)
      ? 'without a meter reading'
      : `for ${tokens(usage.promptTokens)} of prompt (${PROMPT_ORIGIN[usage.promptSource]}) and ${tokens(usage.outputTokens)} of output (${OUTPUT_ORIGIN[usage.outputSource]})`;
  return `${settledAt} by the reaper: ${renderDollars(reaped.costPicoUsd)} ${counts}; the late settlement ${renderDifference(difference)}`;
}

function renderDifference(difference: bigint): string {
  if (difference === 0n) return 'changed nothing';
  return difference > 0n ? `charged ${renderDollars(String(difference))} more` : `gave ${renderDollars(String(-difference))} back`;
}

function tokens(count: number): string {
  return `${count} ${count === 1 ? 'token' : 'tokens'}`;
}

/** True when nothing was billed. Every billed request has prompt tokens. */
function isEmpty({ promptTokens: prompt, outputTokens: output }: TokenUsage): boolean {
  return prompt === 0 && output === 0;
}

const PROMPT_ORIGIN: Record<TokenUsage['promptSource'], string> = {
  reported: 'reported by the upstream',
  estimated: 'estimated from the size of the prompt',
};

const OUTPUT_ORIGIN: Record<TokenUsage['outputSource'], string> = {
  reported: 'reported by the upstream',
  counted: 'counted from the text that was received, 4 bytes a token',
  floor: 'counted from the text that was received, and a floor added for output that the upstream hides',
};

const REASONS: Record<SettleReason, string> = {
  completed: 'the reply was complete',
  failed: 'the request failed, or its stream broke',
  'client-disconnected': 'the client disconnected before the reply was complete',
  released: 'the gateway gave the request up before it called an upstream',
  'lease-expired': 'unknown: the lease expired and no service had settled',
};

const FREE_BECAUSE: Record<SettleReason, string> = {
  completed: 'the reply used no tokens',
  failed: 'the client had received no content',
  'client-disconnected': 'the client had received no content',
  released: 'no upstream was called',
  'lease-expired': 'no meter reading had arrived',
};

const SETTLED_BY: Record<NonNullable<RequestSettlement['settledBy']> | 'unknown', string> = {
  gateway: 'the gateway',
  'inference-proxy': 'the inference-proxy, because the client or the gateway was gone',
  reaper: 'the reaper, with the last meter reading',
  unknown: 'a service that is not recorded',
};

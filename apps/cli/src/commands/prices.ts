import type { ModelPrices } from '#contracts/catalog.js';
import {
  type ListPrices,
  type PriceScheduleRequest,
  type PriceShowReply,
  type PriceShowRequest,
  priceCancel,
  priceList,
  priceSchedule,
  priceShow,
  type ScheduledPrice,
} from '#contracts/scheduled-prices.js';
import type { Messaging } from '#messaging/messaging.js';
import { renderListPrices } from '#money/list-prices.js';
import { parsePrice } from '#money/price-plan.js';
import { command } from '../command.js';
import { account, argument, instant, oneOf, optional, perMillion, required, scheduledPriceId, text, unitPrice } from '../parameters.js';
import { readAccountPlan } from '../read-account-plan.js';
import { renderFields, renderOtherPrices, renderPerMillion, renderPrices, renderTable } from '../render.js';
import { UsageError } from '../usage-error.js';

const RULES = ['keep', 'drop'] as const;

export const priceCommands = [
  command({
    name: 'price schedule',
    summary: 'Give a model another price at a time, in USD per million tokens',
    parameters: {
      model: required(text(256, 'id'), 'id of the model'),
      input: required(perMillion, 'price of input tokens'),
      cached: required(perMillion, 'price of cached input tokens'),
      cacheWrite: optional(perMillion, 'price of tokens written to the upstream’s cache for 5 minutes; default that of input tokens'),
      cacheWriteHour: optional(perMillion, 'as --cache-write, for an hour; default that for 5 minutes'),
      output: required(perMillion, 'price of output tokens'),
      request: optional(unitPrice, 'price of a request in USD; default none'),
      image: optional(unitPrice, 'price of an image in USD; default none'),
      rules: optional(
        oneOf(RULES, 'rules'),
        'keep or drop the steps, tiers and image classes that the model has at that time; required if it has some',
      ),
      at: required(instant, 'time at which the price takes effect'),
      reason: optional(text(500), 'why, for the journal and the history of the catalog'),
    },
    examples: [
      'price schedule --model qwen3-8b --input 0.12 --cached 0.012 --output 0.48 --at 2027-01-01 --reason "cheaper hardware"',
      'price schedule --model claude-sonnet --input 3 --cached 0.3 --output 15 --rules keep --at 2027-01-01',
    ],
    endpoint: priceSchedule,
    request: ({ model, input, cached, cacheWrite, cacheWriteHour, output, request, image, at, reason }) => ({
      model,
      price: {
        inputUsdPerMTok: input,
        cachedInputUsdPerMTok: cached,
        cacheWriteUsdPerMTok: cacheWrite,
        cacheWrite1hUsdPerMTok: cacheWriteHour,
        outputUsdPerMTok: output,
        requestUsd: request,
        imageUsd: image,
      },
      effectiveAt: at,
      reason,
    }),
    prepare: async (request, { rules }, messaging) => ({
      ...request,
      price: { ...request.price, ...(await readRules(request, rules, messaging)) },
    }),
    render: renderPrice,
  }),
  command({
    name: 'price list',
    summary: 'List the prices that wait for their time, in USD per million tokens',
    parameters: {},
    examples: ['price list'],
    endpoint: priceList,
    request: () => ({}),
    render: ({ prices }) =>
      renderTable(prices, 'no price is scheduled', {
        PRICE: (row) => row.scheduledPriceId,
        MODEL: (row) => row.model,
        EFFECTIVE: (row) => row.effectiveAt,
        'IN $/M': (row) => renderPerMillion(row.price.inputPicoUsd),
        'CACHED $/M': (row) => renderPerMillion(row.price.cachedInputPicoUsd),
        'OUT $/M': (row) => renderPerMillion(row.price.outputPicoUsd),
        ...otherColumn(prices),
        ...(prices.some(({ reason }) => reason) && { REASON: (row) => row.reason }),
      }),
  }),
  command({
    name: 'price show',
    summary: 'Show what each model costs an account, now or at another time, in USD per million tokens',
    parameters: {
      account,
      at: optional(instant, 'time of the prices; default now'),
    },
    examples: ['price show --account acme', 'price show --account acme --at 2027-01-01'],
    endpoint: priceShow,
    request: ({ at }): PriceShowRequest => ({ at }),
    prepare: async ({ at }, { account }, messaging) => ({ at, pricePlan: await readAccountPlan(messaging, account, at) }),
    render: renderShown,
  }),
  command({
    name: 'price cancel',
    summary: 'Cancel a scheduled price before its time',
    parameters: { price: argument(scheduledPriceId, 'id of the scheduled price, or its model') },
    examples: ['price cancel <price-id>'],
    endpoint: priceCancel,
    request: ({ price }) => ({ scheduledPriceId: price }),
    render: renderPrice,
  }),
];

/** Returns the rules that the price of the model has at its time, which a command line cannot express: all of them or none, as was asked. */
async function readRules(
  { model, effectiveAt }: PriceScheduleRequest,
  rules: (typeof RULES)[number] | undefined,
  messaging: Messaging,
): Promise<Pick<ListPrices, 'steps' | 'tiers' | 'imageSteps'>> {
  if (rules === 'drop') return {};
  const { prices } = await messaging.request(priceShow, { at: effectiveAt });
  const present = prices.find((price) => price.model === model);
  const { steps, tiers, imageSteps } = present ? renderListPrices(parsePrice(present.list)) : {};
  const kept = { ...(steps && { steps }), ...(tiers && { tiers }), ...(imageSteps && { imageSteps }) };
  if (rules === undefined && Object.keys(kept).length > 0) {
    throw new UsageError(
      `the price of ${model} has steps, tiers or image classes: give --rules keep to leave them as they are, or --rules drop; \`catalog apply\` changes them`,
    );
  }
  return kept;
}

function renderPrice({ scheduledPriceId, model, price, effectiveAt, reason, cancelledAt }: ScheduledPrice): string {
  return renderFields({
    price: scheduledPriceId,
    model,
    effective: effectiveAt,
    input: renderPerMillion(price.inputPicoUsd),
    'cached input': renderPerMillion(price.cachedInputPicoUsd),
    output: renderPerMillion(price.outputPicoUsd),
    ...(hasOtherPrices(price) && { besides: renderOtherPrices(price).join(', ') }),
    ...(reason && { reason }),
    cancelled: cancelledAt,
  });
}

/** Returns the column of prices that only some models have, if a row has some. */
function otherColumn(rows: readonly { price: ModelPrices }[]): Record<string, (row: { price: ModelPrices }) => string | null> {
  if (!rows.some(({ price }) => hasOtherPrices(price))) return {};
  return { BESIDES: ({ price }) => renderOtherPrices(price).join(', ') || null };
}

function hasOtherPrices(price: ModelPrices): boolean {
  return renderOtherPrices(price).length > 0;
}

function renderShown({ revision, at, pricePlan, planIsMissing, prices }: PriceShowReply): string {
  const known = pricePlan === null ? 'list prices' : `price plan ${pricePlan}`;
  const plan = planIsMissing ? `list prices, because the catalog has no price plan ${pricePlan}` : known;
  const table = renderTable(prices, 'no models', {
    MODEL: (row) => row.model,
    'IN $/M': (row) => renderPerMillion(row.price.inputPicoUsd),
    'CACHED $/M': (row) => renderPerMillion(row.price.cachedInputPicoUsd),
    'OUT $/M': (row) => renderPerMillion(row.price.outputPicoUsd),
    ...otherColumn(prices),
    LIST: ({ list }) => renderPrices(list),
  });
  return `${plan}, revision ${revision}, ${at}\n${table}`;
}

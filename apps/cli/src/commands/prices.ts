import {
  type PriceShowReply,
  type PriceShowRequest,
  priceCancel,
  priceList,
  priceSchedule,
  priceShow,
  type ScheduledPrice,
} from '#contracts/scheduled-prices.js';
import { command } from '../command.js';
import { accountId, argument, defaultingToOnly, instant, optional, perMillion, required, scheduledPriceId, text } from '../parameters.js';
import { planOfAccount } from '../plan-of-account.js';
import { renderFields, renderPerMillion, renderTable } from '../render.js';

export const priceCommands = [
  command({
    name: 'price schedule',
    summary: 'Give a model another price at a time, in USD per million tokens',
    parameters: {
      model: required(text(256, 'id'), 'id of the model'),
      input: required(perMillion, 'price of input tokens'),
      cached: required(perMillion, 'price of cached input tokens'),
      output: required(perMillion, 'price of output tokens'),
      at: required(instant, 'time at which the price takes effect'),
    },
    examples: ['price schedule --model qwen3-8b --input 0.12 --cached 0.012 --output 0.48 --at 2027-01-01'],
    endpoint: priceSchedule,
    request: ({ model, input, cached, output, at }) => ({
      model,
      price: { inputUsdPerMTok: input, cachedInputUsdPerMTok: cached, outputUsdPerMTok: output },
      effectiveAt: at,
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
      renderTable(
        prices,
        {
          PRICE: (row) => row.scheduledPriceId,
          MODEL: (row) => row.model,
          EFFECTIVE: (row) => row.effectiveAt,
          'IN $/M': (row) => renderPerMillion(row.price.inputPicoUsd),
          'CACHED $/M': (row) => renderPerMillion(row.price.cachedInputPicoUsd),
          'OUT $/M': (row) => renderPerMillion(row.price.outputPicoUsd),
        },
        'no price is scheduled',
      ),
  }),
  command({
    name: 'price show',
    summary: 'Show what each model costs an account, now or at another time, in USD per million tokens',
    parameters: {
      account: defaultingToOnly(accountId, 'id of the account'),
      at: optional(instant, 'time of the prices; default now'),
    },
    examples: ['price show --account <account-id>', 'price show --account <account-id> --at 2027-01-01'],
    endpoint: priceShow,
    request: ({ at }): PriceShowRequest => ({ at }),
    prepare: async ({ at }, { account }, messaging) => ({ at, pricePlan: await planOfAccount(messaging, account, at) }),
    render: renderPrices,
  }),
  command({
    name: 'price cancel',
    summary: 'Cancel a scheduled price before its time',
    parameters: { price: argument(scheduledPriceId, 'id of the scheduled price') },
    examples: ['price cancel <price-id>'],
    endpoint: priceCancel,
    request: ({ price }) => ({ scheduledPriceId: price }),
    render: renderPrice,
  }),
];

function renderPrice({ scheduledPriceId, model, price, effectiveAt, cancelledAt }: ScheduledPrice): string {
  return renderFields({
    price: scheduledPriceId,
    model,
    effective: effectiveAt,
    input: renderPerMillion(price.inputPicoUsd),
    'cached input': renderPerMillion(price.cachedInputPicoUsd),
    output: renderPerMillion(price.outputPicoUsd),
    cancelled: cancelledAt,
  });
}

function renderPrices({ revision, at, pricePlan, planIsMissing, prices }: PriceShowReply): string {
  const known = pricePlan === null ? 'list prices' : `price plan ${pricePlan}`;
  const plan = planIsMissing ? `list prices, because the catalog has no price plan ${pricePlan}` : known;
  const table = renderTable(
    prices,
    {
      MODEL: (row) => row.model,
      'IN $/M': (row) => renderPerMillion(row.price.inputPicoUsd),
      'CACHED $/M': (row) => renderPerMillion(row.price.cachedInputPicoUsd),
      'OUT $/M': (row) => renderPerMillion(row.price.outputPicoUsd),
      LIST: ({ list }) => [list.inputPicoUsd, list.cachedInputPicoUsd, list.outputPicoUsd].map(renderPerMillion).join(' / '),
    },
    'no models',
  );
  return `${plan}, revision ${revision}, ${at}\n${table}`;
}

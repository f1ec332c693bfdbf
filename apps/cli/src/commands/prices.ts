import { priceCancel, priceList, priceSchedule, type ScheduledPrice } from '#contracts/scheduled-prices.js';
import { command } from '../command.js';
import { argument, instant, perMillion, required, scheduledPriceId, text } from '../parameters.js';
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

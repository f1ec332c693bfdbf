import { picoUsd } from '#money/pico-usd.js';
import { parsePrice } from '#money/price-plan.js';
import { renderEstimate, type renderRefusal, type renderSigned } from '../http/endpoints/render-estimate.js';
import { MAX_COST_HEADER } from '../http/max-cost-header.js';
import { QUOTE_HEADER } from '../pipeline/quotes.js';
import { count, described, type JsonSchema, list, orNull, ref, replyObject, text, word } from '../protocols/json-schema/json-schema.js';
import { PICO_USD, price } from './price-schemas.js';

const estimate: Record<keyof ReturnType<typeof renderEstimate>, JsonSchema> = {
  object: word('estimate'),
  model: text,
  prompt_tokens: described(count, 'An estimate, as that of `count_tokens`.'),
  prompt_tokens_method: described(
    word('four_bytes_a_token'),
    'Four bytes of text are a token, and an image is the most that the model counts.',
  ),
  prompt_tokens_max: described(count, 'The most that the prompt can have: one a byte of text.'),
  output_tokens_max: described(count, 'The output limit that the request would have.'),
  max_cost_pico_usd: described(PICO_USD, 'The most that the request can cost: what it would hold.'),
  max_cost_usd: described(text, 'The same in dollars, exactly.'),
  price: described(replyObject(price), 'The price that it would have.'),
  available_pico_usd: described(PICO_USD, 'Money of the account that a new request can use.'),
  refused_by: described(list(ref('EstimateRefusal')), 'All that has too little left for the request. Empty: money and budgets cover it.'),
};

const signed: Record<keyof ReturnType<typeof renderSigned>, JsonSchema> = {
  quote: described(text, 'Only with `quote=true`, as the next one: send it as `x-tollgate-quote` with the same body.'),
  quote_expires_at: described(text, 'ISO 8601.'),
};

type RefusalFields =
  | 'by'
  | 'scope'
  | 'of'
  | 'period'
  | 'resets_at'
  | 'left_pico_usd'
  | 'missing_pico_usd'
  | 'left_tokens'
  | 'missing_tokens';
const { by, ...ofRefusal }: Record<keyof Required<ReturnType<typeof renderRefusal>> | RefusalFields, JsonSchema> = {
  by: word('balance', 'budget'),
  scope: described(word('account', 'project', 'key'), 'Of a budget, as the next three.'),
  of: described(orNull(text), '`user` or `tag:<name>`, and the value of the request. Null: the budget counts all requests.'),
  period: word('day', 'week', 'month', 'total'),
  resets_at: described(orNull(text), 'ISO 8601; null if it never resets.'),
  left_pico_usd: described(PICO_USD, 'Not of a budget of tokens, as the next one.'),
  missing_pico_usd: described(PICO_USD, 'The amount by which the request may cost too much.'),
  left_tokens: described(count, 'Only of a budget of tokens, as the next one.'),
  missing_tokens: count,
};

export const ESTIMATE_SCHEMAS: Record<string, JsonSchema> = {
  Estimate: replyObject(estimate, signed),
  EstimateRefusal: replyObject({ by }, ofRefusal),
};

const PRICE = { version: 1, inputPicoUsd: '150000', cachedInputPicoUsd: '15000', outputPicoUsd: '600000' };

export const ESTIMATE_EXAMPLE = renderEstimate({
  model: 'sim-fast',
  quote: {
    ...{ price: parsePrice(PRICE), pinnedPrice: PRICE, amount: picoUsd(2_459_100_000n) },
    ...{ promptTokensMax: 10, promptTokensEstimate: 3, outputTokensMax: 4_096 },
  },
  promptTokens: 3,
  availablePicoUsd: '2000000000',
  refusals: [{ by: 'balance', leftPicoUsd: '2000000000', missingPicoUsd: '459100000' }],
});

export const MAX_COST = {
  name: MAX_COST_HEADER,
  in: 'header',
  description:
    'The most that the request may cost, in dollars: else it is refused before a model runs. With `; lower-output` its output limit is lowered until it fits.',
  schema: { type: 'string' },
  example: '0.05; lower-output',
};

export const WITH_QUOTE = {
  name: 'quote',
  in: 'query',
  description: 'With `true` the estimate is signed and valid for five minutes.',
  schema: { type: 'string', enum: ['true', 'false'] },
};

export const QUOTE = {
  name: QUOTE_HEADER,
  in: 'header',
  description: 'The `quote` of an estimate of the same body: the request has its price, and never costs more.',
  schema: { type: 'string' },
};

import type {
  renderImagePrice,
  renderImageStep,
  renderModelPrice,
  renderPrice,
  renderPromptPrices,
  renderStep,
  renderTier,
} from '../http/endpoints/render-price.js';
import { count, described, type JsonSchema, list, orNull, replyObject, text, word } from '../protocols/json-schema/json-schema.js';

export const PICO_USD: JsonSchema = { type: 'string', pattern: '^-?[0-9]+$' };

type Fields<Render extends (...given: never[]) => object> = Record<keyof ReturnType<Render>, JsonSchema>;

const promptPrices: Fields<typeof renderPromptPrices> = {
  input_pico_usd: PICO_USD,
  cached_input_pico_usd: PICO_USD,
  cache_write_pico_usd: described(PICO_USD, 'Of a prompt token that the upstream writes to its cache for 5 minutes.'),
  cache_write_1h_pico_usd: described(PICO_USD, 'As `cache_write_pico_usd`, for an hour.'),
};

const step: Fields<typeof renderStep> = {
  above: described(count, 'A prompt of more tokens reaches the step.'),
  reprices: described(word('whole', 'excess'), 'All tokens of the request, or those of its prompt after `above`.'),
  ...promptPrices,
  output_pico_usd: described(orNull(PICO_USD), 'Null: as without the step.'),
};

const tier: Fields<typeof renderTier> = {
  tier: described(text, 'Name of the tier as the upstream reports it.'),
  ...promptPrices,
  output_pico_usd: PICO_USD,
  steps: list(replyObject(step)),
};

const imagePrice: Fields<typeof renderImagePrice> = {
  above_bytes: described(count, 'An image of more bytes has the price.'),
  image_pico_usd: PICO_USD,
};

const imageStep: Fields<typeof renderImageStep> = {
  ...imagePrice,
  images: described(count, 'Images of the prompt that have it.'),
};

export const modelPrice: Fields<typeof renderModelPrice> = {
  version: count,
  price_plan: described(orNull(text), 'Price plan that it comes from. Null: the list price.'),
  ...promptPrices,
  output_pico_usd: PICO_USD,
  request_pico_usd: PICO_USD,
  image_pico_usd: PICO_USD,
  steps: described(list(replyObject(step)), 'Other prices from a size of the prompt on.'),
  tiers: described(list(replyObject(tier)), 'Prices by the tier that the upstream says it served. Any other has the prices above.'),
  image_steps: described(list(replyObject(imagePrice)), 'Prices of larger images.'),
};

export const price: Fields<typeof renderPrice> = {
  ...modelPrice,
  images: described(count, 'Images of the prompt, if they have a price, without those of `image_steps`.'),
  image_steps: described(list(replyObject(imageStep)), 'Prices of larger images.'),
};

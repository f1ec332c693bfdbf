import type { PinnedPrice } from '#contracts/billing/holds.js';
import { ACCOUNT_LINES_BYTES, CACHED_PROMPT_TOKENS_MIN } from '#inference/added-texts.js';
import { type EmbeddingSize, inputTokensMax } from '#inference/embedding-size.js';
import { GatewayError } from '#inference/errors.js';
import { estimateBilledPromptTokens, estimatePromptTokens, leastPromptTokens } from '#inference/estimate-tokens.js';
import { measurePrompt, type PromptSize, promptBytesMax } from '#inference/prompt-size.js';
import type { InferenceRequest } from '#inference/request.js';
import type { PicoUsd } from '#money/pico-usd.js';
import { HOLD_MAX, holdFor, type Price } from '#money/price.js';
import type { Model } from '../clients/catalog.js';
import { EncodedRequest } from '../encoded-request.js';

/** The amount to hold for a request, and the numbers that go with it. */
export interface Quote {
  /** Price of the model, with the images of the request if they have a price. */
  price: Price;
  pinnedPrice: PinnedPrice;
  /** The highest possible cost: `promptTokensMax` and the whole output cap. */
  amount: PicoUsd;
  /** One token for each byte of the prompt's text and of what is added to it, and the most that the model counts for each image. */
  promptTokensMax: number;
  /** Estimate to bill for a prompt that the upstream does not count. */
  promptTokensEstimate: number;
  /** The output cap, which upstreams get as well; 0 for embeddings. */
  outputTokensMax: number;
  /** Number and length of the vectors of a request for embeddings. */
  embedding?: { inputs: number; dimensions: number };
}

/**
 * Computes the amount to hold for a request. Throws `unsupported_content` for images that the model does not accept,
 * `context_length_exceeded` when the prompt and the requested output cannot fit the context, and `invalid_request` when the model does
 * something else or the amount exceeds `HOLD_MAX`.
 */
export function quoteRequest(model: Model, request: InferenceRequest | EncodedRequest): Quote {
  const size = request instanceof EncodedRequest ? request.size : measurePrompt(request);
  checkKind(model, size);
  checkImages(model, size);
  const bounds = size.embedding ? boundInputs(model, size, size.embedding) : boundGeneration(model, size, request.maxOutputTokens);
  const prices = pricesFor(model, size);
  const amount = holdFor(bounds, prices.price);
  if (amount > HOLD_MAX) {
    throw new GatewayError(
      'invalid_request',
      'The request could cost more than $1,000,000, the limit of one request. Lower the output limit.',
    );
  }
  return { ...prices, amount, ...bounds };
}

/** Returns the quote with an output cap of at most `outputTokensCap`; the same one without it. */
export function capOutput(quote: Quote, outputTokensCap: number | undefined): Quote {
  if (outputTokensCap === undefined || quote.outputTokensMax <= outputTokensCap) return quote;
  const bounds = { promptTokensMax: quote.promptTokensMax, outputTokensMax: outputTokensCap };
  return { ...quote, ...bounds, amount: holdFor(bounds, quote.price) };
}

type Bounds = Pick<Quote, 'promptTokensMax' | 'promptTokensEstimate' | 'outputTokensMax' | 'embedding'>;

function boundGeneration(model: Model, size: PromptSize, requested: number | undefined): Bounds {
  const outputTokensMax = outputCap(model, size, requested);
  const promptTokensEstimate = estimateBilledPromptTokens(size, model.tokensPerImageMax);
  // The proxy adds the lines by this estimate.
  const lineBytes = promptTokensEstimate < CACHED_PROMPT_TOKENS_MIN ? 0 : ACCOUNT_LINES_BYTES;
  const promptTokensMax = promptBytesMax(size, model.reasoningEcho) + lineBytes + size.images * model.tokensPerImageMax;
  return { promptTokensMax, promptTokensEstimate, outputTokensMax };
}

/** Each input must fit the context alone; the upstream decides about those that may. */
function boundInputs({ contextTokens, embeddingDimensions }: Model, size: PromptSize, embedding: EmbeddingSize): Bounds {
  const { inputs, longestBytes, longestTokens } = embedding;
  const longest = Math.max(longestTokens, leastPromptTokens({ textBytes: longestBytes }));
  if (longest > contextTokens) {
    throw new GatewayError(
      'context_length_exceeded',
      `The prompt is too long: ${longest} tokens > ${contextTokens} maximum of one input. Shorten the input.`,
      { param: 'input' },
    );
  }
  const dimensionsMax = embeddingDimensions ?? 0;
  const { dimensions = dimensionsMax } = embedding;
  if (dimensions > dimensionsMax) {
    throw new GatewayError('invalid_request', `\`dimensions\` must be at most ${dimensionsMax}.`, { param: 'dimensions' });
  }
  return {
    promptTokensMax: inputTokensMax(size.textBytes, embedding),
    promptTokensEstimate: estimateBilledPromptTokens(size, 0),
    outputTokensMax: 0,
    embedding: { inputs, dimensions },
  };
}

/** A model for embeddings writes no replies, and any other one makes no embeddings. */
export function checkKind({ id, embeddingDimensions }: Model, { embedding }: PromptSize): void {
  const embeds = embeddingDimensions != null;
  if (embeds === (embedding !== undefined)) return;
  const what = embeds ? 'is for embeddings: use POST /v1/embeddings' : 'makes no embeddings: use another one';
  throw new GatewayError('invalid_request', `The model ${JSON.stringify(id)} ${what}.`, { param: 'model' });
}

/** Puts the images of the request into its price, each into its class. */
function pricesFor({ price, pinnedPrice }: Model, { images, imageBytes = [] }: PromptSize): Pick<Quote, 'price' | 'pinnedPrice'> {
  const { imagePicoUsd, imageSteps } = price;
  if (images === 0 || (imagePicoUsd === undefined && imageSteps === undefined)) return { price, pinnedPrice };
  if (imageSteps === undefined) return { price: { ...price, images }, pinnedPrice: { ...pinnedPrice, images } };
  const inClass = imageSteps.map(({ aboveBytes }, index) => {
    const next = imageSteps[index + 1]?.aboveBytes ?? Number.POSITIVE_INFINITY;
    return imageBytes.filter((bytes) => bytes > aboveBytes && bytes <= next).length;
  });
  const smaller = images - inClass.reduce((sum, count) => sum + count, 0);
  const counted = <Step extends object>(step: Step, index: number) => ({ ...step, ...(inClass[index] && { images: inClass[index] }) });
  const others = imagePicoUsd !== undefined && smaller > 0 && { images: smaller };
  return {
    price: { ...price, ...others, imageSteps: imageSteps.map(counted) },
    pinnedPrice: { ...pinnedPrice, ...others, ...(pinnedPrice.imageSteps && { imageSteps: pinnedPrice.imageSteps.map(counted) }) },
  };
}

/**
 * Returns the output cap. Without a requested one it is the model's default, or what the prompt is estimated to leave of the context.
 * Throws for a prompt that cannot fit, by a count that errs on the client's side; the upstream decides about the others.
 */
function outputCap(model: Model, size: PromptSize, requested: number | undefined): number {
  const { contextTokens, defaultOutputTokens, maxOutputTokens } = model;
  const cap = Math.min(requested ?? defaultOutputTokens, maxOutputTokens);
  const outputTokensMin = requested === undefined ? 1 : cap;
  const estimate = estimatePromptTokens(size, model);
  const least = leastPromptTokens(size);
  if (least + outputTokensMin > contextTokens) throw contextExceeded(contextTokens, estimate, outputTokensMin);
  if (requested !== undefined) return cap;
  return Math.min(cap, estimate < contextTokens ? contextTokens - estimate : contextTokens - least);
}

export function checkImages(model: Model, { images }: PromptSize): void {
  if (images > 0 && !model.input.includes('image')) {
    throw new GatewayError('unsupported_content', `The model ${JSON.stringify(model.id)} does not accept images.`);
  }
}

/** Coding agents recognise this wording and its numbers, and then shorten the conversation: do not change it. */
function contextExceeded(contextTokens: number, promptTokens: number, outputTokensMax: number): GatewayError {
  return new GatewayError(
    'context_length_exceeded',
    `The prompt is too long: ${promptTokens + outputTokensMax} tokens > ${contextTokens} maximum ` +
      `(about ${promptTokens} of prompt and up to ${outputTokensMax} of output). Shorten the prompt or lower the output limit.`,
  );
}

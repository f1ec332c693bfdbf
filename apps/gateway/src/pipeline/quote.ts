import { GatewayError } from '#inference/errors.js';
import { estimatePromptTokens } from '#inference/estimate-tokens.js';
import { measurePrompt, type PromptSize } from '#inference/prompt-size.js';
import type { InferenceRequest } from '#inference/request.js';
import { type PicoUsd, picoUsd } from '#money/pico-usd.js';
import { HOLD_MAX, holdFor } from '#money/price.js';
import type { Model } from '../clients/catalog.js';
import { EncodedRequest } from '../encoded-request.js';

/** The amount to hold for a request, and the numbers that go with it. */
export interface Quote {
  /** The highest possible cost: one token per byte of prompt text, and the whole output cap. */
  amount: PicoUsd;
  /** The part of `amount` that covers the prompt. */
  promptAmount: PicoUsd;
  /** Estimate for the check of the context, and for usage that no upstream reports. It may be lower than what `amount` counts. */
  promptTokensEstimate: number;
  /** The output cap, which upstreams get as well. */
  outputTokensMax: number;
}

/**
 * Computes the amount to hold for a request. Throws `unsupported_content` for images that the model does not accept,
 * `context_length_exceeded` when the prompt estimate and the output cap exceed the context, and `invalid_request` when the amount exceeds
 * `HOLD_MAX`.
 */
export function quoteRequest(model: Model, request: InferenceRequest | EncodedRequest): Quote {
  const size = request instanceof EncodedRequest ? request.promptSize(model.reasoningEcho) : measurePrompt(request, model.reasoningEcho);
  checkImages(model, size);
  const outputTokensMax = Math.min(request.maxOutputTokens ?? model.defaultOutputTokens, model.maxOutputTokens);
  const promptTokensEstimate = estimatePromptTokens(size, model.tokensPerImageMax);
  if (promptTokensEstimate + outputTokensMax > model.contextTokens) {
    throw contextExceeded(model.contextTokens, promptTokensEstimate, outputTokensMax);
  }
  const prompt = { promptTextBytes: size.textBytes, images: size.images, tokensPerImageMax: model.tokensPerImageMax };
  // Computed apart from the output, because the error for an insufficient balance names the output limit that would fit.
  const promptAmount = holdFor({ ...prompt, outputTokensMax: 0 }, model.price);
  const amount = picoUsd(promptAmount + BigInt(outputTokensMax) * model.price.outputPicoUsd);
  if (amount > HOLD_MAX) {
    throw new GatewayError(
      'invalid_request',
      'The request could cost more than $1,000,000, the limit of one request. Lower the output limit.',
    );
  }
  return { amount, promptAmount, promptTokensEstimate, outputTokensMax };
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

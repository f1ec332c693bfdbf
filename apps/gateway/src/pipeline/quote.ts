import { GatewayError } from '#inference/errors.js';
import { estimatePromptTokens } from '#inference/estimate-tokens.js';
import { measurePrompt, type PromptSize } from '#inference/prompt-size.js';
import type { InferenceRequest } from '#inference/request.js';
import { type PicoUsd, picoUsd } from '#money/pico-usd.js';
import { HOLD_MAX, holdFor } from '#money/price.js';
import type { Model } from '../clients/catalog.js';
import { EncodedRequest } from '../encoded-request.js';

/** The highest possible cost of a request, and the caps that guarantee it. */
export interface Quote {
  amount: PicoUsd;
  /** Share of `amount` for the prompt. */
  promptAmount: PicoUsd;
  promptTokensEstimate: number;
  outputTokensMax: number;
}

/**
 * Computes the amount to hold for a request. Throws `unsupported_content` for images that the model does not accept, and
 * `context_length_exceeded` when the prompt estimate and the output cap exceed the context.
 */
export function quoteRequest(model: Model, request: InferenceRequest | EncodedRequest): Quote {
  const size = request instanceof EncodedRequest ? request.promptSize(model.reasoningEcho) : measurePrompt(request, model.reasoningEcho);
  checkCapabilities(model, size);
  const outputTokensMax = Math.min(request.maxOutputTokens ?? model.defaultOutputTokens, model.maxOutputTokens);
  const promptTokensEstimate = estimatePromptTokens(size, model.tokensPerImageMax);
  if (promptTokensEstimate + outputTokensMax > model.contextTokens) {
    throw contextExceeded(model.contextTokens, promptTokensEstimate, outputTokensMax);
  }
  const prompt = { promptTextBytes: size.textBytes, images: size.images, tokensPerImageMax: model.tokensPerImageMax };
  const promptAmount = holdFor({ ...prompt, outputTokensMax: 0 }, model.price);
  const amount = picoUsd(promptAmount + BigInt(outputTokensMax) * model.price.outputPicoUsd);
  if (amount > HOLD_MAX) throw new GatewayError('invalid_request', 'The request could cost more than a single request may.');
  return { amount, promptAmount, promptTokensEstimate, outputTokensMax };
}

/** Throws `unsupported_content` for images that the model does not accept. */
export function checkCapabilities(model: Model, { images }: PromptSize): void {
  if (images > 0 && !model.input.includes('image')) {
    throw new GatewayError('unsupported_content', `The model ${JSON.stringify(model.id)} does not accept images.`);
  }
}

/** Coding agents match this wording and its numbers to compact a conversation. */
function contextExceeded(contextTokens: number, promptTokens: number, outputTokensMax: number): GatewayError {
  return new GatewayError(
    'context_length_exceeded',
    `The prompt is too long: ${promptTokens + outputTokensMax} tokens > ${contextTokens} maximum ` +
      `(about ${promptTokens} of prompt and up to ${outputTokensMax} of output). Shorten the prompt or lower the output limit.`,
  );
}

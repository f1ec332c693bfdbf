import { type PromptSize, promptBytesMax } from './prompt-size.js';

const BYTES_PER_TOKEN = 4;

/** Tokenizers make at most this many bytes of a long text one token. */
const BYTES_PER_TOKEN_MAX = 8;

/** Tokens of a small image. Vendors count more for a larger one. */
const TOKENS_PER_IMAGE_MIN = 64;

/** The fields of a model that decide how many tokens a prompt has there. */
interface PromptModel {
  tokensPerImageMax: number;
  reasoningEcho: boolean;
}

/** Estimates the tokens of a prompt; images count at their bound. `count_tokens` and the output cap use it. */
export function estimatePromptTokens(size: PromptSize, { tokensPerImageMax, reasoningEcho }: PromptModel): number {
  return Math.max(1, Math.ceil(promptBytesMax(size, reasoningEcho) / BYTES_PER_TOKEN) + size.images * tokensPerImageMax);
}

/**
 * Estimates the tokens to bill for a prompt that the upstream did not count. It must not exceed what the upstream would have counted:
 * only texts that every upstream gets count, and images at the size of a small one.
 */
export function estimateBilledPromptTokens(
  { textBytes, images, embedding }: Pick<PromptSize, 'textBytes' | 'images' | 'embedding'>,
  tokensPerImageMax: number,
): number {
  const tokens = Math.ceil(textBytes / BYTES_PER_TOKEN) + (embedding?.tokens ?? 0);
  return Math.max(1, tokens + images * Math.min(TOKENS_PER_IMAGE_MIN, tokensPerImageMax));
}

/** The fewest tokens that a prompt can have, for the refusal of one that cannot fit. */
export function leastPromptTokens(size: Pick<PromptSize, 'textBytes'>): number {
  return Math.floor(size.textBytes / BYTES_PER_TOKEN_MAX);
}

/** Estimates the tokens of received output, from bytes of UTF-8 text. */
export function estimateOutputTokens(textBytes: number): number {
  return Math.ceil(textBytes / BYTES_PER_TOKEN);
}

/** The most bytes of text that are `tokens` by this estimate. */
export function estimateBytes(tokens: number): number {
  return tokens * BYTES_PER_TOKEN;
}

import type { EmbeddingInputs } from './request.js';

/** Tokens that a server adds to each input, such as the first and the last of models like BERT. */
const ADDED_TOKENS_MAX = 2;

/** The size of a request for embeddings. */
export interface EmbeddingSize {
  /** Number of the inputs. */
  inputs: number;
  /** Tokens of the inputs that came as tokens. */
  tokens: number;
  /** Size of the largest input, in bytes of text and in given tokens. */
  longestBytes: number;
  longestTokens: number;
  /** Length of the vectors that the request asks for. Absent: the model's own. */
  dimensions?: number;
}

/** Measures the inputs, and adds the bytes of their texts to `textBytes`. */
export function addInputs({ inputs, dimensions }: EmbeddingInputs, size: { textBytes: number }): EmbeddingSize {
  const measured: EmbeddingSize = { inputs: inputs.length, tokens: 0, longestBytes: 0, longestTokens: 0 };
  if (dimensions !== undefined) measured.dimensions = dimensions;
  for (const input of inputs) {
    const length = inputLength(input);
    if (typeof input === 'string') {
      size.textBytes += length;
      measured.longestBytes = Math.max(measured.longestBytes, length);
    } else {
      measured.tokens += length;
      measured.longestTokens = Math.max(measured.longestTokens, length);
    }
  }
  return measured;
}

/** The most tokens that an upstream counts for inputs: one a byte of text, each given one, and those that it adds. */
export function inputTokensMax(textBytes: number, { inputs, tokens }: Pick<EmbeddingSize, 'inputs' | 'tokens'>): number {
  return textBytes + tokens + inputs * ADDED_TOKENS_MAX;
}

/** Bytes of a text, or the number of given tokens. */
export function inputLength(input: string | readonly number[]): number {
  return typeof input === 'string' ? Buffer.byteLength(input) : input.length;
}

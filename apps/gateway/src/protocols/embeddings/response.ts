import type { ShownUsage } from '../protocol-adapter.js';
import { renderCost } from '../render-cost.js';
import type { Encoding } from './request.dto.js';

/** Characters of a piece, so that rendering one takes about a millisecond. */
const PIECE_LENGTH_MIN = 64 * 1024;

export interface EmbeddingReplyContent {
  /** The model id of the request. */
  model: string;
  encoding: Encoding;
  /** In the order of the inputs, as in `embedding-delta`. */
  vectors: readonly (string | readonly number[])[];
  usage: ShownUsage;
}

/** Renders the body of a reply in pieces: it can have megabytes. */
export function* renderEmbeddings({ model, encoding, vectors, usage }: EmbeddingReplyContent): Generator<string, void, undefined> {
  const render = encoding === 'base64' ? renderBase64 : renderFloats;
  let piece = '{"object":"list","data":[';
  for (const [index, vector] of vectors.entries()) {
    piece += `${index > 0 ? ',' : ''}{"object":"embedding","index":${index},"embedding":${render(vector)}}`;
    if (piece.length < PIECE_LENGTH_MIN) continue;
    yield piece;
    piece = '';
  }
  yield `${piece}],"model":${JSON.stringify(model)},"usage":${JSON.stringify(renderUsage(usage))}}`;
}

function renderUsage(usage: ShownUsage) {
  return { prompt_tokens: usage.promptTokens, total_tokens: usage.promptTokens, ...renderCost(usage) };
}

/** Floats of 32 bits in the order of bytes of every machine that Node runs on: little endian. */
function renderBase64(vector: string | readonly number[]): string {
  return JSON.stringify(typeof vector === 'string' ? vector : Buffer.from(new Float32Array(vector).buffer).toString('base64'));
}

/** Every float of 32 bits is a number exactly. */
function renderFloats(vector: string | readonly number[]): string {
  if (typeof vector !== 'string') return JSON.stringify(vector);
  const bytes = new Uint8Array(Buffer.from(vector, 'base64')); // a copy, because a slice of Node's buffer pool may not be aligned
  return `[${new Float32Array(bytes.buffer).join(',')}]`;
}

import { type PromptUsage, servedTier } from '#inference/usage.js';
import { UpstreamFailure } from '../../failures/upstream-failure.js';
import { isObject, parseReplyObject } from '../replies/json-object.js';
import { readField } from '../replies/reported-usage.js';
import type { EmbeddingInput, EmbeddingsAdapter, RenderedRequest, UpstreamCall, Vector } from '../upstream-adapter.js';
import { findError } from './errors.js';
import { renderHeaders } from './request.js';
import { parseUsage } from './usage.js';

/** `POST /embeddings` of OpenAI and compatible servers. */
export const embeddings: EmbeddingsAdapter = { renderRequest, parseReply };

/** Asks for base64, a fifth of the size of numbers. A server that does not know it answers with numbers. */
function renderRequest({ model, request }: UpstreamCall, inputs: readonly EmbeddingInput[], apiKey: string | undefined): RenderedRequest {
  const body = { model, input: inputs, encoding_format: 'base64', dimensions: request.embedding?.dimensions };
  return { path: 'embeddings', headers: renderHeaders(apiKey), body };
}

function parseReply(
  body: string,
  call: UpstreamCall,
  { inputs, dimensions }: { inputs: number; dimensions: number },
): { vectors: Vector[]; usage: PromptUsage | undefined } {
  // Numbers of the vectors, and the fields of each.
  const reply = parseReplyObject(body, inputs * (dimensions + FIELDS_MAX) + FIELDS_MAX);
  const failure = findError(reply, call);
  if (failure !== undefined) throw failure;
  call.onReply?.(reply);
  return { vectors: parseVectors(reply.data, inputs, dimensions), usage: parsePrompt(reply, call) };
}

/** Fields of one object of a reply, and more than enough for those of its usage. */
const FIELDS_MAX = 64;

/** Returns the vectors in the order of the inputs. Some servers leave out `index`: then they come in that order. */
function parseVectors(data: unknown, inputs: number, dimensions: number): Vector[] {
  if (!Array.isArray(data) || data.length !== inputs) throw broken('reply without one vector for each input');
  const vectors: Vector[] = [];
  for (const [position, entry] of data.entries()) {
    const { index, embedding } = isObject(entry) ? entry : {};
    const place = index ?? position;
    if (!isPlace(place, inputs) || vectors[place] !== undefined) throw broken('wrong index of a vector');
    vectors[place] = parseVector(embedding, dimensions);
  }
  return vectors;
}

function isPlace(value: unknown, inputs: number): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) < inputs;
}

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** Every vector has the length that the memory of the reply was taken for. */
function parseVector(value: unknown, dimensions: number): Vector {
  if (Array.isArray(value)) {
    if (!value.every(Number.isFinite)) throw broken('vector with something else than numbers');
    if (value.length !== dimensions) throw wrongLength(value.length, dimensions);
    return value as number[];
  }
  if (typeof value !== 'string' || !BASE64.test(value)) throw broken('vector that is neither numbers nor base64');
  const bytes = new Uint8Array(Buffer.from(value, 'base64'));
  if (bytes.length !== dimensions * Float32Array.BYTES_PER_ELEMENT) {
    throw wrongLength(bytes.length / Float32Array.BYTES_PER_ELEMENT, dimensions);
  }
  if (!new Float32Array(bytes.buffer).every(Number.isFinite)) throw broken('vector with something else than numbers');
  return value;
}

/** Returns the tokens of the prompt; undefined when they were not counted. Some servers count a total alone. */
function parsePrompt({ usage, service_tier: tier }: Record<string, unknown>, call: UpstreamCall): PromptUsage | undefined {
  if (!isObject(usage)) return undefined;
  const prompt = readField(usage, 'prompt_tokens', 'input_tokens', 'total_tokens');
  const { prompt_tokens_details: details } = usage;
  return parseUsage({ prompt_tokens: prompt, prompt_tokens_details: details }, call, servedTier(tier));
}

function wrongLength(length: number, dimensions: number): UpstreamFailure {
  return new UpstreamFailure('broken', 'upstream_error', {
    detail: `vectors of ${length} dimensions instead of ${dimensions}`,
    isOperatorsFault: true,
  });
}

function broken(detail: string): UpstreamFailure {
  return new UpstreamFailure('broken', 'upstream_error', { detail });
}

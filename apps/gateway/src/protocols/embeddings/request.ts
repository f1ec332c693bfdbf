import type { EmbeddingInputs } from '#inference/request.js';
import { parseBodyAttribution } from '../body-fields/body-attribution.js';
import { invalidField, isAbsent, type JsonObject, readBody } from '../body-fields/body-fields.js';
import { validateFields } from '../body-fields/validate-fields.js';
import type { ParsedRequest } from '../protocol-adapter.js';
import { EmbeddingFields, type Encoding } from './request.dto.js';

/** Inputs of one request, as many as OpenAI takes. */
export const INPUTS_MAX = 2_048;
/** Largest id of a token. */
export const TOKEN_MAX = 2 ** 31 - 1;

export interface EmbeddingRequest extends ParsedRequest {
  encoding: Encoding;
}

/** Parses a body of `POST /v1/embeddings`. Throws a `GatewayError` whose `param` names the invalid field. */
export function parseRequest(body: unknown): EmbeddingRequest {
  const source = readBody(body);
  const { model, dimensions, user, encoding_format: encoding = 'float' } = validateFields(EmbeddingFields, source);
  const embedding: EmbeddingInputs = { inputs: parseInputs(source) };
  if (dimensions !== undefined) embedding.dimensions = dimensions;
  return {
    attribution: parseBodyAttribution(source),
    encoding,
    request: { model, turns: [], tools: [], output: { kind: 'text' }, stream: false, endUser: user, hints: {}, embedding },
  };
}

/** Parses `input`: a text, the tokens of one, or an array of either. */
function parseInputs({ input }: JsonObject): EmbeddingInputs['inputs'] {
  if (isAbsent(input)) throw invalidField('input', 'is required');
  if (!Array.isArray(input) || typeof input[0] === 'number') return [parseInput(input, 'input')];
  if (input.length === 0) throw invalidField('input', 'must not be empty');
  if (input.length > INPUTS_MAX) throw invalidField('input', `must have at most ${INPUTS_MAX} entries`);
  return input.map((entry, index) => parseInput(entry, `input[${index}]`));
}

function parseInput(input: unknown, path: string): string | number[] {
  if (typeof input !== 'string' && !Array.isArray(input)) throw invalidField(path, 'must be a string or an array of tokens');
  if (input.length === 0) throw invalidField(path, 'must not be empty');
  if (typeof input !== 'string' && !input.every(isToken)) throw invalidField(path, `must have whole numbers from 0 to ${TOKEN_MAX}`);
  return input;
}

function isToken(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= TOKEN_MAX;
}

import { setTimeout as delay } from 'node:timers/promises';
import { type Directives, findDirectives } from './directives.js';
import { invalidValue, parseBody } from './field-checks.js';
import { countTokens } from './reply/usage-rule.js';
import { hangUntilAborted, type SimReply } from './send-stream.js';
import { SimError } from './sim-error.js';

export const EMBEDDINGS_PATH = '/v1/embeddings';

interface EmbeddingModel {
  /** Tokens of one input. */
  readonly contextTokens: number;
  /** Length of the vectors. A request may ask for a shorter one. */
  readonly dimensions: number;
}

export const EMBEDDING_MODELS: ReadonlyMap<string, EmbeddingModel> = new Map([['sim-embed', { contextTokens: 8_192, dimensions: 256 }]]);

/** The limits of OpenAI for one request. */
const INPUTS_MAX = 2_048;
const TOKENS_MAX = 300_000;

/**
 * Answers a request for embeddings. A vector depends on its input alone, and a shorter one is the beginning of the whole. Rejects when the
 * client disconnects.
 *
 * @throws SimError for a refusal
 */
export async function answerEmbeddings(body: string, defaults: Directives, { response, signal, breakOff }: SimReply): Promise<void> {
  const request = parseBody(body);
  const model = EMBEDDING_MODELS.get(request.model);
  if (!model) throw SimError.unknownModel(request.model);
  const inputs = parseInputs(request.input);
  const { dimensions = model.dimensions, encoding_format: encoding = 'float' } = request;
  if (!isWhole(dimensions, 1, model.dimensions)) throw invalidValue('dimensions', `a whole number from 1 to ${model.dimensions}`);
  if (encoding !== 'float' && encoding !== 'base64') throw invalidValue('encoding_format', 'float or base64');
  const counts = inputs.map((input) => (typeof input === 'string' ? countTokens(input) : input.length));
  const longest = Math.max(...counts);
  if (longest > model.contextTokens) throw SimError.contextLength(model.contextTokens, longest, 0);
  const tokens = counts.reduce((sum, count) => sum + count, 0);
  if (tokens > TOKENS_MAX) throw SimError.invalid(`Requested ${tokens} tokens, max ${TOKENS_MAX} tokens per request`, 'input');
  const directives = findDirectives(inputs.filter((input) => typeof input === 'string').join('\n'), defaults);
  if (directives.ttft) await delay(directives.ttft, undefined, { signal });
  if (directives.hang !== undefined) return hangUntilAborted(signal);
  if (directives.cut !== undefined) return breakOff();
  if (directives.status !== undefined) throw SimError.ofStatus(directives.status);
  const promptTokens = directives.prompt ?? tokens;
  const data = inputs.map((input, index) => ({ object: 'embedding', index, embedding: render(makeVector(input, dimensions), encoding) }));
  const usage = directives.nousage ? undefined : { prompt_tokens: promptTokens, total_tokens: promptTokens };
  const reply = JSON.stringify({ object: 'list', data, model: request.model, usage });
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(reply) }).end(reply);
}

type Input = string | number[];

function parseInputs(input: unknown): Input[] {
  const inputs = Array.isArray(input) && typeof input[0] !== 'number' ? input : [input];
  if (inputs.length === 0 || inputs.length > INPUTS_MAX) throw invalidValue('input', `1 to ${INPUTS_MAX} inputs`);
  inputs.forEach((one, index) => {
    const isTokens = Array.isArray(one) && one.every((token) => isWhole(token, 0, 2 ** 31 - 1));
    if ((typeof one !== 'string' && !isTokens) || one.length === 0) throw invalidValue(`input[${index}]`, 'a text or tokens');
  });
  return inputs;
}

function isWhole(value: unknown, least: number, most: number): value is number {
  return Number.isInteger(value) && (value as number) >= least && (value as number) <= most;
}

/** Returns numbers from -1 to 1 by a generator (mulberry32) that starts at a hash of the input. */
function makeVector(input: Input, dimensions: number): Float32Array {
  let state = 0x811c9dc5;
  for (const byte of Buffer.from(typeof input === 'string' ? input : JSON.stringify(input))) state = Math.imul(state ^ byte, 0x01000193);
  return Float32Array.from({ length: dimensions }, () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) / 2 ** 31;
  });
}

function render(vector: Float32Array, encoding: 'float' | 'base64'): unknown {
  return encoding === 'float' ? [...vector] : Buffer.from(vector.buffer).toString('base64');
}

import { measurePrompt, type PromptSize } from '#inference/prompt-size.js';
import type { InferenceRequest } from '#inference/request.js';
import { EncodedRequest } from '../../encoded-request.js';
import { parseCountRequest } from '../../protocols/messages/request.js';
import type { BodyAttribution, ParsedRequest, ReplyOptions } from '../../protocols/protocol-adapter.js';
import type { BodyWorkers } from './body-workers.js';
import type { WorkOwner } from './fair-queue.js';
import { checkShape, type JsonShape, parseText, readUtf8 } from './parse-json.js';
import { type BodyFormat, findValuesMax } from './parse-large-body.js';

/** A body within both limits is parsed on the main thread, in about 10 ms at most. */
const SMALL_BYTES_MAX = 256 * 1024;
const SMALL_VALUES_MAX = 10_000;

/** A body that was received. Parsing may move `bytes` to another thread, which leaves it empty. */
interface ReadBody {
  bytes: Buffer;
  owner: WorkOwner;
  /** Aborts when its request is stopped or its client disconnects. */
  stopped: AbortSignal;
}

interface GenerationBody extends ReadBody {
  /** Called when the request was sent to the inference-proxy and its bytes can be released. Not called for small bodies. */
  onSent(): void;
}

interface ParsedBody<Parsed extends ParsedRequest> {
  request: InferenceRequest | EncodedRequest;
  attribution: BodyAttribution | undefined;
  replyOptions: ReplyOptions<Parsed>;
}

/** Parses bodies into requests: small bodies on the main thread, large ones in worker threads. Throws the error of a refused body. */
export class BodyParser {
  constructor(private readonly workers: BodyWorkers) {}

  async parseGeneration<Parsed extends ParsedRequest>(format: BodyFormat<Parsed>, body: GenerationBody): Promise<ParsedBody<Parsed>> {
    const small = parseSmall(body.bytes, findValuesMax(format.name));
    if (small !== undefined) {
      const parsed = format.parseRequest(small.value);
      return { request: parsed.request, attribution: parsed.attribution, replyOptions: parsed };
    }
    const { summary, attribution, replyOptions, json } = await this.workers.parse(format.name, body.bytes, body.owner, body.stopped);
    // The worker parsed by the same format.
    return { request: new EncodedRequest(summary, json, body.onSent), attribution, replyOptions: replyOptions as ReplyOptions<Parsed> };
  }

  async parseCount(body: ReadBody): Promise<{ model: string; size: PromptSize }> {
    const small = parseSmall(body.bytes);
    if (small === undefined) return (await this.workers.parse('count-tokens', body.bytes, body.owner, body.stopped)).summary;
    const prompt = parseCountRequest(small.value);
    return { model: prompt.model, size: measurePrompt(prompt) };
  }
}

/** Returns undefined for a body that belongs in a worker thread. */
function parseSmall(bytes: Buffer, valuesMax?: number): { value: unknown } | undefined {
  if (bytes.length > SMALL_BYTES_MAX) return undefined;
  const text = readUtf8(bytes);
  const shape: JsonShape = checkShape(text, valuesMax);
  return shape.values > SMALL_VALUES_MAX ? undefined : { value: parseText(text, shape) };
}

import type { RedactedSpan } from '#contracts/policy.js';
import { measurePrompt } from '#inference/prompt-size.js';
import type { InferenceRequest } from '#inference/request.js';
import type { RequestSummary } from '../../encoded-request.js';
import { listTexts, redactTexts, UnfitSpansError } from '../../pipeline/policy/prompt-texts.js';
import { ADAPTERS } from '../../protocols/adapters.js';
import { EMBEDDINGS } from '../../protocols/embeddings/format.js';
import { parseCountRequest } from '../../protocols/messages/request.js';
import type { BodyAttribution, ParsedRequest, ProtocolAdapter, ProtocolName, ReplyOptions } from '../../protocols/protocol-adapter.js';
import { EMBEDDING_VALUES_MAX, parseJson } from './parse-json.js';

/** A format whose requests run a model. */
export interface BodyFormat<Parsed extends ParsedRequest = ParsedRequest> extends Pick<ProtocolAdapter<Parsed>, 'parseRequest'> {
  name: ProtocolName | 'embeddings';
}

/** The format of a request that runs a model, `count-tokens`, or work on a request that was parsed before: `json` of a `LargeBody`. */
export type BodyKind = BodyFormat['name'] | 'count-tokens' | 'list-texts' | 'redact-texts';

/** The formats of all requests that run a model. */
export const FORMATS: Record<BodyFormat['name'], BodyFormat> = { ...ADAPTERS, embeddings: EMBEDDINGS };

/** A parsed body as the main thread receives it. It is small, except `json`, which is transferred without a copy. */
export interface LargeBody {
  summary: RequestSummary;
  attribution?: BodyAttribution | undefined;
  /** The format's `ReplyOptions`; `{}` for `count-tokens`. */
  replyOptions: object;
  /** The canonical request as JSON in UTF-8, or its texts; empty for `count-tokens`, and for spans that do not fit. */
  json: Uint8Array<ArrayBuffer>;
}

/** Does all work that grows with the size of a body. Throws the same `GatewayError` as parsing on the main thread. */
export function parseLargeBody(kind: BodyKind, body: Buffer): LargeBody {
  if (kind === 'list-texts' || kind === 'redact-texts') return workOnTexts(kind, body);
  const value = parseJson(body, findValuesMax(kind));
  return kind === 'count-tokens' ? countable(parseCountRequest(value)) : generation(FORMATS[kind].parseRequest(value));
}

/** Returns the most values of a body, where it is not that of most formats. */
export function findValuesMax(kind: BodyKind): number | undefined {
  return kind === 'embeddings' ? EMBEDDING_VALUES_MAX : undefined;
}

/** The gateway has written this JSON itself, but for the spans, which are checked. */
function workOnTexts(kind: 'list-texts' | 'redact-texts', body: Buffer): LargeBody {
  const parsed: unknown = JSON.parse(body.toString());
  if (kind === 'list-texts') {
    const request = parsed as InferenceRequest;
    return { summary: summarize(request), replyOptions: {}, json: encode(listTexts(request)) };
  }
  const { spans, request } = parsed as { spans: RedactedSpan[]; request: InferenceRequest };
  try {
    return generation({ request: redactTexts(request, spans) });
  } catch (error) {
    if (!(error instanceof UnfitSpansError)) throw error;
    return { summary: summarize(request), replyOptions: {}, json: new Uint8Array(0) };
  }
}

function encode(value: unknown): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(JSON.stringify(value));
}

function countable(prompt: ReturnType<typeof parseCountRequest>): LargeBody {
  return { summary: { model: prompt.model, stream: false, size: measurePrompt(prompt) }, replyOptions: {}, json: new Uint8Array(0) };
}

function generation({ request, attribution, ...replyOptions }: ParsedRequest & ReplyOptions<ParsedRequest>): LargeBody {
  return { summary: summarize(request), attribution, replyOptions, json: encode(request) };
}

function summarize(request: InferenceRequest): RequestSummary {
  const { model, stream, maxOutputTokens } = request;
  return { model, stream, maxOutputTokens, size: measurePrompt(request) };
}

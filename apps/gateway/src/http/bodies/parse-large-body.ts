import { measurePrompt } from '#inference/prompt-size.js';
import type { InferenceRequest } from '#inference/request.js';
import type { RequestSummary } from '../../encoded-request.js';
import { ADAPTERS } from '../../protocols/adapters.js';
import { parseCountRequest } from '../../protocols/messages/request.js';
import type { BodyAttribution, ParsedRequest, ProtocolName, ReplyOptions } from '../../protocols/protocol-adapter.js';
import { parseJson } from './parse-json.js';

/** The format of a generation request, or `count-tokens`. */
export type BodyKind = ProtocolName | 'count-tokens';

/** A parsed body as the main thread receives it. It is small, except `json`, which is transferred without a copy. */
export interface LargeBody {
  summary: RequestSummary;
  attribution?: BodyAttribution | undefined;
  /** The format's `ReplyOptions`; `{}` for `count-tokens`. */
  replyOptions: object;
  /** The canonical request as JSON in UTF-8; empty for `count-tokens`. */
  json: Uint8Array<ArrayBuffer>;
}

/** Does all work that grows with the size of a body. Throws the same `GatewayError` as parsing on the main thread. */
export function parseLargeBody(kind: BodyKind, body: Buffer): LargeBody {
  const value = parseJson(body);
  return kind === 'count-tokens' ? countable(parseCountRequest(value)) : generation(ADAPTERS[kind].parseRequest(value));
}

function countable(prompt: ReturnType<typeof parseCountRequest>): LargeBody {
  return { summary: { model: prompt.model, stream: false, size: measurePrompt(prompt) }, replyOptions: {}, json: new Uint8Array(0) };
}

function generation({ request, attribution, ...replyOptions }: ParsedRequest & ReplyOptions<ParsedRequest>): LargeBody {
  return { summary: summarize(request), attribution, replyOptions, json: new TextEncoder().encode(JSON.stringify(request)) };
}

function summarize(request: InferenceRequest): RequestSummary {
  const { model, stream, maxOutputTokens } = request;
  return { model, stream, maxOutputTokens, size: measurePrompt(request) };
}

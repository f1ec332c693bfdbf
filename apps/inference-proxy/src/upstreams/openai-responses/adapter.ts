import type { UpstreamAdapter } from '../upstream-adapter.js';
import { parseError } from './errors.js';
import { OUTPUT_TOKENS_MIN, renderRequest } from './request.js';
import { parseReply } from './response.js';
import { ResponsesStreamParser } from './stream.js';

/** `POST /responses` as OpenAI and servers compatible with it speak it, without state: everything is in the request. */
export const openaiResponses: UpstreamAdapter = {
  kind: 'openai-responses',
  withoutStop: true,
  outputTokensMin: OUTPUT_TOKENS_MIN,
  renderRequest,
  parseReply,
  openStream: (call) => new ResponsesStreamParser(call),
  parseError,
};

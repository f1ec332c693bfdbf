import type { UpstreamAdapter } from '../upstream-adapter.js';
import { parseError } from './errors.js';
import { LowCapParser } from './low-output-cap.js';
import { lowCapOf, renderRequest } from './request.js';
import { parseReply } from './response.js';
import { ResponsesStreamParser } from './stream.js';

/** `POST /responses` of OpenAI and compatible servers, without stored state. */
export const openaiResponses: UpstreamAdapter = {
  kind: 'openai-responses',
  takesStop: () => false, // the dialect has no stop sequences
  renderRequest,
  parseReply,
  openStream: (call) => {
    const [parser, cap] = [new ResponsesStreamParser(call), lowCapOf(call)];
    return cap === undefined ? parser : new LowCapParser(parser, cap);
  },
  parseError,
};

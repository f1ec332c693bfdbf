import { underCap } from '../replies/output-cap.js';
import type { UpstreamAdapter } from '../upstream-adapter.js';
import { parseError } from './errors.js';
import { findEnforcedCap, renderRequest } from './request.js';
import { parseReply } from './response.js';
import { ResponsesStreamParser } from './stream.js';

/** `POST /responses` of OpenAI and compatible servers, without stored state. */
export const openaiResponses: UpstreamAdapter = {
  kind: 'openai-responses',
  takesStop: () => false, // the dialect has no stop sequences
  renderRequest,
  parseReply,
  openStream: (call) => underCap(new ResponsesStreamParser(call), findEnforcedCap(call)),
  parseError,
};

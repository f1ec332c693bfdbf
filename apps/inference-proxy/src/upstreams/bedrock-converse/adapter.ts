import { findMissingCap, underCap } from '../replies/output-cap.js';
import type { UpstreamAdapter } from '../upstream-adapter.js';
import { parseError } from './errors.js';
import { renderRequest, takesStop } from './request.js';
import { parseReply } from './response.js';
import { ConverseStreamParser } from './stream.js';

/** `Converse` and `ConverseStream` of Amazon Bedrock, for the models of all its vendors. */
export const bedrockConverse: UpstreamAdapter = {
  kind: 'bedrock-converse',
  takesStop,
  renderRequest,
  parseReply,
  openStream: (call) => underCap(new ConverseStreamParser(call), findMissingCap(call)),
  parseError,
};

import { findMissingCap, underCap } from '../replies/output-cap.js';
import type { UpstreamAdapter } from '../upstream-adapter.js';
import { parseError } from './errors.js';
import { renderRequest, takesStop } from './request.js';
import { parseReply } from './response.js';
import { GeminiStreamParser } from './stream.js';

/** `generateContent` and `streamGenerateContent` of Google's Gemini API and Vertex AI. */
export const gemini: UpstreamAdapter = {
  kind: 'gemini',
  takesStop,
  renderRequest,
  parseReply,
  openStream: (call) => underCap(new GeminiStreamParser(call), findMissingCap(call)),
  parseError,
};

import type { UpstreamCapabilities, UpstreamTimeouts } from './catalog.js';

/** What an upstream is taken to be able to do where its entry in the catalog does not say. */
export const CAPABILITY_DEFAULTS: Readonly<UpstreamCapabilities> = {
  streamOptions: true,
  jsonSchema: true,
  parallelToolCalls: true,
  strictTools: true,
  developerRole: false,
  systemMessages: 'anywhere',
  alternatingRoles: false,
  nineCharacterCallIds: false,
  seed: true,
  penalties: true,
  reasoningEffort: false,
  maxTokensField: 'max_tokens',
  stop: true,
  reasoningEcho: false,
  thinkTags: false,
  reasoningSummary: false,
  streamPlainRequests: false,
};

export const TIMEOUT_DEFAULTS: Readonly<UpstreamTimeouts> = { connectMs: 5_000, firstByteMs: 120_000, idleMs: 60_000, totalMs: 600_000 };

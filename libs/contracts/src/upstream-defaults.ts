import type { Upstream, UpstreamCapabilities, UpstreamTimeouts } from './catalog.js';
import { DIALECTS } from './dialects.js';

/** Capabilities of an upstream whose catalog entry names none. */
export const CAPABILITY_DEFAULTS: Readonly<Required<UpstreamCapabilities>> = {
  streamOptions: true,
  jsonSchema: true,
  parallelToolCalls: true,
  strictTools: true,
  developerRole: false,
  systemMessages: 'anywhere',
  alternatingRoles: false,
  nineCharacterCallIds: false,
  toolChoice: 'forced',
  temperature: true,
  topP: true,
  outputCap: true,
  instructions: false,
  cachedApart: null,
  promptCache: '5m',
  cacheKey: null,
  seed: true,
  penalties: true,
  reasoningEffort: false,
  reasoningSwitch: 'none',
  maxTokensField: 'max_tokens',
  stop: true,
  reasoningEcho: false,
  thinkTags: false,
  beginsInReasoning: false,
  reasoningSummary: false,
  streamPlainRequests: false,
  hiddenReasoning: null,
  hiddenTokensFloor: 1_024,
  embeddingInputsMax: 2_048,
  embeddingTokensMax: 300_000,
};

export const TIMEOUT_DEFAULTS: Readonly<Required<UpstreamTimeouts>> = {
  connectMs: 5_000,
  firstByteMs: 120_000,
  idleMs: 60_000,
  totalMs: 600_000,
  readOnMs: 30_000,
  finishMs: 2_000,
};

/** Limits of reading on after a client has disconnected. */
export interface ReadOnLimits {
  readOnMs: number;
  hiddenTokensFloor: number;
}

/** Returns undefined for an upstream that shows all it bills: its abandoned calls end at once. */
export function readOnLimits({
  kind,
  capabilities,
  timeouts,
}: Pick<Upstream, 'kind' | 'capabilities' | 'timeouts'>): ReadOnLimits | undefined {
  if (!(capabilities.hiddenReasoning ?? DIALECTS[kind].hidesOutput)) return undefined;
  return {
    readOnMs: timeouts.readOnMs ?? TIMEOUT_DEFAULTS.readOnMs,
    hiddenTokensFloor: capabilities.hiddenTokensFloor ?? CAPABILITY_DEFAULTS.hiddenTokensFloor,
  };
}

import type { Upstream, UpstreamCapabilities } from '#contracts/catalog.js';

export type Variant = Partial<UpstreamCapabilities>;

interface DialectProbe {
  /** Capabilities without which a working upstream may refuse the first request. */
  firstVariants: readonly Variant[];
  /** Ids of the checks that run in some dialects alone, and in this one. */
  checks: readonly string[];
  /** Ways to switch reasoning off, as they are tried; servers that do not know one ignore or refuse it. */
  reasoningSwitches: readonly ReasoningSwitch[];
}

export type ReasoningSwitch = Exclude<NonNullable<UpstreamCapabilities['reasoningSwitch']>, 'none'>;

const ROLES = ['developer-role', 'system-messages', 'same-role', 'parallel-tool-calls', 'reasoning-switch'];

/** The parts of the probe that depend on the dialect. */
export const DIALECT_PROBES: Record<Upstream['kind'], DialectProbe> = {
  'openai-chat': {
    firstVariants: [{ maxTokensField: 'max_completion_tokens' }, { maxTokensField: 'max_tokens' }, { outputCap: false }],
    checks: [...ROLES, 'usage-unasked', 'stop', 'seed', 'penalties', 'max-tokens-field', 'reasoning-effort', 'cache-key'],
    reasoningSwitches: ['chat_template_kwargs', 'thinking', 'reasoning_effort'],
  },
  'openai-responses': {
    firstVariants: [{ outputCap: false }, { instructions: true }, { cacheKey: 'none' }],
    checks: [...ROLES, 'reasoning-summary'],
    reasoningSwitches: ['reasoning_effort'],
  },
  'anthropic-messages': { firstVariants: [], checks: ['stop'], reasoningSwitches: [] },
  'bedrock-converse': { firstVariants: [{ outputCap: false }], checks: ['stop'], reasoningSwitches: [] },
  gemini: {
    firstVariants: [],
    reasoningSwitches: ['thinking', 'reasoning_effort'],
    checks: ['stop', 'seed', 'penalties', 'reasoning-summary', 'reasoning-effort', 'reasoning-switch'],
  },
};

const SPECIAL: ReadonlySet<string> = new Set(Object.values(DIALECT_PROBES).flatMap(({ checks }) => checks));

/** True for a check that runs in some dialects alone. */
export function isSpecial(id: string): boolean {
  return SPECIAL.has(id);
}

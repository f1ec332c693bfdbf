import { NO_USAGE, type Usage } from '#inference/usage.js';

/** Returns a usage that an upstream has reported. */
export function reportedUsage(promptTokens: number, outputTokens: number, { cachedTokens = 0, reasoningTokens = 0 } = {}): Usage {
  return { promptTokens, cachedTokens, outputTokens, reasoningTokens, promptSource: 'reported', outputSource: 'reported' };
}

/** Returns a usage that Tollgate has estimated for a prompt and counted for an output. */
export function estimatedUsage(promptTokens: number, outputTokens: number, reasoningTokens = 0): Usage {
  return { ...NO_USAGE, promptTokens, outputTokens, reasoningTokens };
}

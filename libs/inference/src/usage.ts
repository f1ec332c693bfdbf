/** Origin of a prompt count: `reported` by the upstream, or `estimated` from the size of the prompt. */
export const PROMPT_SOURCES = ['reported', 'estimated'] as const;
export type PromptSource = (typeof PROMPT_SOURCES)[number];

/**
 * Origin of an output count: `reported` by the upstream, `counted` from the text that was received (`estimateOutputTokens`), or a
 * `floor`: the least that is billed for output that the upstream hid and did not report.
 */
export const OUTPUT_SOURCES = ['reported', 'counted', 'floor'] as const;
export type OutputSource = (typeof OUTPUT_SOURCES)[number];

/** Tokens that a request consumed. `cachedTokens` is a part of `promptTokens`, `reasoningTokens` a part of `outputTokens` (spec 2.8). */
export interface Usage {
  promptTokens: number;
  cachedTokens: number;
  outputTokens: number;
  reasoningTokens: number;
  /** Origin of the prompt tokens, cached ones included. */
  promptSource: PromptSource;
  /** Origin of the output tokens, reasoning included. */
  outputSource: OutputSource;
}

/** Origin of a prompt count: `reported` by the upstream, or `estimated` from the prompt size. */
export const PROMPT_SOURCES = ['reported', 'estimated'] as const;
export type PromptSource = (typeof PROMPT_SOURCES)[number];

/**
 * Origin of an output count: `reported` by the upstream, `counted` from the received text (`estimateOutputTokens`), or `floor`: counted,
 * plus a floor for output that the upstream hides and did not report.
 */
export const OUTPUT_SOURCES = ['reported', 'counted', 'floor'] as const;
export type OutputSource = (typeof OUTPUT_SOURCES)[number];

/** Tokens that a request used. `promptTokens` include `cachedTokens`, `outputTokens` include `reasoningTokens`. */
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

/** Usage of a request that has used nothing so far. */
export const NO_USAGE: Readonly<Usage> = {
  promptTokens: 0,
  cachedTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  promptSource: 'estimated',
  outputSource: 'counted',
};

/**
 * What a request consumed, in tokens. `cachedTokens` is a part of `promptTokens`, `reasoningTokens` a part of
 * `outputTokens` (spec 2.8). `source` says whether the upstream counted or we estimated from the text.
 */
export interface Usage {
  promptTokens: number;
  cachedTokens: number;
  outputTokens: number;
  reasoningTokens: number;
  source: 'reported' | 'estimated';
}

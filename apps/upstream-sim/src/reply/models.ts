export interface SimModel {
  readonly contextTokens: number;
  /** A larger limit is lowered to this, not refused. */
  readonly outputTokensMax: number;
  readonly images: boolean;
  /** Default number of reasoning tokens. */
  readonly reasoningTokens: number;
}

const TEXT_MODEL: SimModel = { contextTokens: 131_072, outputTokensMax: 8_192, images: false, reasoningTokens: 0 };

export const SIM_MODELS: ReadonlyMap<string, SimModel> = new Map([
  ['sim-fast', TEXT_MODEL],
  ['sim-reason', { ...TEXT_MODEL, outputTokensMax: 32_768, reasoningTokens: 16 }],
  ['sim-vision', { ...TEXT_MODEL, images: true }],
  ['sim-tiny', { ...TEXT_MODEL, contextTokens: 2_048, outputTokensMax: 256 }],
]);

/** The limit of a budget and its use in the window, in its unit. */
export interface BudgetAmounts {
  unit: 'usd' | 'tokens';
  /** Absent for a budget of tokens, like the next two. */
  limitPicoUsd?: string;
  /**
   * Cost of the settled requests of the window. Above the limit only after the limit was lowered. Zero, like `heldPicoUsd`, for a budget of
   * each value: `billing.v1.budget.values` lists them.
   */
  spentPicoUsd?: string;
  /** The most that the running requests of the window may cost. */
  heldPicoUsd?: string;
  /** Only for a budget of tokens, like the next two. */
  limitTokens?: number;
  /** Tokens of the settled requests of the window. Those of a late settlement may take it above the limit. */
  spentTokens?: number;
  /** The most tokens that the running requests of the window may use. */
  heldTokens?: number;
}

/** Parses the amounts: pico-USD or tokens. */
export function parseAmounts(budget: BudgetAmounts): { limit: bigint; spent: bigint; held: bigint } {
  const of = budget.unit === 'tokens' ? 'Tokens' : 'PicoUsd';
  const [limit, spent, held] = [budget[`limit${of}`], budget[`spent${of}`], budget[`held${of}`]];
  return { limit: BigInt(limit ?? 0), spent: BigInt(spent ?? 0), held: BigInt(held ?? 0) };
}

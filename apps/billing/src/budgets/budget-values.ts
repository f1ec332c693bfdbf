/** Sums of one value of a budget in its window. */
export interface ValueCount {
  spent: bigint;
  held: bigint;
}

/** By `valueKey`. Values that count nothing yet are absent. */
export type ValueCounts = ReadonlyMap<string, ValueCount>;

/** Change that a batch makes to a row of `billing.budget_value`. */
export interface ValueChange extends ValueCount {
  budgetId: string;
  accountId: string;
  value: string;
  windowEnd: number;
  /** Most that may be spent and held afterwards. Null: the batch holds nothing more for the value. */
  limit: bigint | null;
  /** Sum of what is spent at which the next threshold is an event. Null: there is none. */
  nextThreshold: bigint | null;
}

export function valueKey({ budgetId }: { budgetId: string }, value: string): string {
  return `${budgetId} ${value}`;
}

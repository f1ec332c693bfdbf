interface SeedOptions {
  /** SQL expressions of `number`, the number of the row, by column. */
  columns?: Record<string, string>;
  /** SQL expression of the time of a row. */
  millisecond?: string;
}

/** Fills the journal up to `count` settlements with copies of one that cost nothing. `databaseUrl` is that of the owner. */
export function seedSettlements(databaseUrl: string, count: number, options?: SeedOptions): Promise<void>;

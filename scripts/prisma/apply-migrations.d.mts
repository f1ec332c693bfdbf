export interface MigrationOptions {
  /** Receives a line for each session that holds a needed lock. Default: standard error. */
  say?: (line: string) => void;
  /** Milliseconds to wait for a lock. Default: 10 minutes. */
  lockWaitMaxMs?: number;
}

/** Names of the migrations in `folder`, in order. */
export function migrationsIn(folder: string): string[];

/** Returns the names of the applied migrations. */
export function applyMigrations(ownerUrl: string, folder: string, options?: MigrationOptions): Promise<string[]>;

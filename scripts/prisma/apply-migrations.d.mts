export interface MigrationOptions {
  /** Gets a line for each session whose lock is waited for. Default: to standard error. */
  say?: (line: string) => void;
  /** How long a lock is waited for. Default 10 minutes. */
  lockWaitMaxMs?: number;
}

/** Returns the names of the migrations it has applied. */
export function applyMigrations(ownerUrl: string, folder: string, options?: MigrationOptions): Promise<string[]>;

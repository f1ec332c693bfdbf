/** Returns the names of the migrations it has applied. */
export function applyMigrations(ownerUrl: string, folder: string): Promise<string[]>;

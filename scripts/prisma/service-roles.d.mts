export type DatabaseService = 'billing' | 'catalog' | 'panel';

export interface TableRights {
  select?: true;
  insert?: true;
  /** Columns that may be updated. */
  update?: string[];
  delete?: true;
}

export const GRANTS: Record<
  DatabaseService,
  { settings: Record<string, string>; functions: string[]; tables: Record<string, TableRights> }
>;

export function ensureServiceRoles(ownerUrl: string, urls: Partial<Record<DatabaseService, string | undefined>>): Promise<string[]>;

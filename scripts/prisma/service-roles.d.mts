export type DatabaseService = 'billing' | 'catalog' | 'panel';

export interface TableRights {
  select?: true;
  insert?: true;
  /** Columns that may be updated. */
  update?: string[];
  delete?: true;
}

/** Rights by schema. `service`: the service that owns the schema, by default the one of the same name. */
export const GRANTS: Record<
  DatabaseService | 'activity',
  { service?: DatabaseService; settings: Record<string, string>; functions: string[]; tables: Record<string, TableRights> }
>;

export function ensureServiceRoles(
  ownerUrl: string,
  urls: Partial<Record<DatabaseService, string | undefined>>,
  options?: { known?: string[] },
): Promise<string[]>;

import { readdirSync } from 'node:fs';
import { requireAbove } from '#config/find-above.js';
import type { PrismaClient } from './prisma-client.js';

/** Milliseconds until a schema that cannot be served is read again, since a migration or a restore is probably running. */
const UNREADY_MS = 1_000;
const READY_MS = 60_000;

/** End of the name of a migration that removes something: the time of a migration that every version which can still run has. */
const NEEDS = /_needs_(\d{14})$/;

interface SchemaState {
  /** First missing migration, and their number. */
  missing: { first: string; count: number } | undefined;
  /** Unknown migration that removed something which this version uses. */
  unserved: string | undefined;
  /** All unknown migrations, joined. Other migrations only add, so the service can run. */
  newer: string;
  /** Next read, on the clock of `performance.now()`. */
  until: number;
}

/**
 * Returns a readiness check that is true when the database has every migration of this version, and none that this version cannot run
 * with. `detail` names a missing migration, or unknown ones. Reads the database once a second until it is true, then once a minute.
 */
export function schemaReadiness(
  prisma: PrismaClient,
  known = knownMigrations(),
): { name: string; check(): Promise<boolean>; detail(): string | undefined } {
  let state: SchemaState | undefined;
  let reading: Promise<SchemaState> | undefined;
  const read = async (): Promise<SchemaState> => {
    const applied = new Set(await appliedMigrations(prisma));
    const missing = known.filter((name) => !applied.has(name));
    const newer = [...applied].filter((name) => !known.includes(name));
    const unserved = newer.find((name) => {
      const [, needed] = NEEDS.exec(name) ?? [];
      return needed !== undefined && !known.some((one) => one.startsWith(needed));
    });
    const [first] = missing;
    const until = performance.now() + (first === undefined && unserved === undefined ? READY_MS : UNREADY_MS);
    return { missing: first === undefined ? undefined : { first, count: missing.length }, unserved, newer: newer.join(', '), until };
  };
  return {
    name: 'schema',
    check: async () => {
      if (!state || state.until <= performance.now()) {
        reading ??= read().finally(() => {
          reading = undefined;
        });
        state = await reading;
      }
      return state.missing === undefined && state.unserved === undefined;
    },
    detail: () => state && describe(state),
  };
}

function describe({ missing, unserved, newer }: SchemaState): string | undefined {
  if (unserved !== undefined) return `the database is newer than this version can serve: ${unserved}`;
  if (missing) return `migration ${missing.first} is missing${missing.count > 1 ? `, and ${missing.count - 1} after it` : ''}`;
  return newer === '' ? undefined : `the database is newer than this version: ${newer}`;
}

/** Returns the names in order. Empty when the table does not exist or this user may not read it yet: the migration grants that too. */
async function appliedMigrations(prisma: PrismaClient): Promise<string[]> {
  const [table] = await prisma.$queryRaw<{ readable: boolean }[]>`
    SELECT coalesce((SELECT has_column_privilege(c.oid, 'migration_name', 'SELECT') FROM pg_class c
      WHERE c.oid = to_regclass('public._prisma_migrations')), false) AS readable`;
  if (!table?.readable) return [];
  const rows = await prisma.$queryRaw<{ name: string }[]>`
    SELECT migration_name AS name FROM public._prisma_migrations WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL ORDER BY 1`;
  return rows.map(({ name }) => name);
}

/** Returns the migrations of this version. */
function knownMigrations(): string[] {
  const entries = readdirSync(requireAbove('prisma/migrations'), { withFileTypes: true });
  return entries.flatMap((entry) => (entry.isDirectory() ? entry.name : [])).sort();
}

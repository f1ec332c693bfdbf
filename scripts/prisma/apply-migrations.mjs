import { createHash, randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { waitForLocks } from './wait-for-locks.mjs';

/** Prisma's, so that neither works while the other does. */
const LOCK = 72_707_369;

/** A check of the ledger gives way to a migration at once; what holds a lock for so long is something to look at. */
const LOCK_WAIT_MAX_MS = 600_000;

/** As Prisma makes it. */
const TABLE = `CREATE TABLE IF NOT EXISTS _prisma_migrations (
  id VARCHAR(36) PRIMARY KEY NOT NULL,
  checksum VARCHAR(64) NOT NULL,
  finished_at TIMESTAMPTZ,
  migration_name VARCHAR(255) NOT NULL,
  logs TEXT,
  rolled_back_at TIMESTAMPTZ,
  started_at TIMESTAMPTZ NOT NULL DEFAULT now(),
  applied_steps_count INTEGER NOT NULL DEFAULT 0
)`;

/**
 * Applies the migrations in `folder` that the database does not have yet, in the order of their names, and returns those. The records are those
 * of `prisma migrate deploy`, and either may follow the other. But here a migration and its record are one transaction: whatever is
 * killed in the middle, the database has all of it or nothing, and the next run goes on. (Prisma would refuse to, until somebody has
 * found out by hand what was done.) So a migration cannot hold what runs in no transaction, such as CREATE INDEX CONCURRENTLY.
 *
 * Runs at the same time wait for each other. No request waits long for a migration that waits for a lock itself (wait-for-locks.mjs);
 * `say` gets a line for each session that has such a lock.
 * @throws {Error} one line with the migration that failed and why; those before it stay.
 */
export async function applyMigrations(ownerUrl, folder, { say = console.error, lockWaitMaxMs = LOCK_WAIT_MAX_MS } = {}) {
  const [client, watcher] = [1, 2].map(() => new pg.Client({ connectionString: ownerUrl, application_name: 'tollgate-migrate' }));
  try {
    await Promise.all([client.connect(), watcher.connect()]);
    await client.query('SET search_path = public');
    const locking = { client, watcher, waitMaxMs: lockWaitMaxMs, say };
    await waitForLocks(locking, () => client.query('SELECT pg_advisory_lock($1)', [LOCK]));
    await client.query(TABLE);
    const { rows } = await client.query(
      'SELECT migration_name FROM _prisma_migrations WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL',
    );
    const applied = new Set(rows.map((row) => row.migration_name));
    const pending = migrationsIn(folder).filter((name) => !applied.has(name));
    for (const name of pending) {
      const sql = readFileSync(join(folder, name, 'migration.sql'), 'utf8');
      await waitForLocks(locking, () => apply(client, name, sql)).catch((error) => {
        throw new Error(`${name}: ${error.message}`, { cause: error });
      });
    }
    return pending;
  } finally {
    await Promise.all([client.end(), watcher.end()]);
  }
}

function migrationsIn(folder) {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort();
}

async function apply(client, name, sql) {
  try {
    await client.query('BEGIN');
    await client.query(sql);
    // What a `prisma migrate deploy` that was interrupted has begun: we have just done it.
    await client.query(
      'UPDATE _prisma_migrations SET rolled_back_at = now() WHERE migration_name = $1 AND finished_at IS NULL AND rolled_back_at IS NULL',
      [name],
    );
    await client.query(
      'INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at, applied_steps_count) VALUES ($1, $2, $3, now(), 1)',
      [randomUUID(), createHash('sha256').update(sql).digest('hex'), name],
    );
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined); // on a broken connection the server does so by itself
    throw error;
  }
}

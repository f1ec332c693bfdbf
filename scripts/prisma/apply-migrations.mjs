import { createHash, randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { waitForLocks } from './wait-for-locks.mjs';

/** The advisory lock of `prisma migrate deploy`, so that both exclude each other. */
const LOCK = 72_707_369;

/** A ledger check yields to a migration at once; an operator should look at any longer lock. */
const LOCK_WAIT_MAX_MS = 600_000;

/** Same table as that of Prisma. */
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
 * Applies the missing migrations in `folder` in the order of their names, and returns them. Its records are compatible with
 * `prisma migrate deploy`. Unlike there, a migration and its record are one transaction: after a crash the next run continues, where
 * Prisma would wait for manual repair. So a migration cannot contain statements such as CREATE INDEX CONCURRENTLY.
 *
 * Concurrent runs wait for each other. Requests never wait long behind a migration that waits for a lock (wait-for-locks.mjs).
 * @throws {Error} with the failed migration and its reason; earlier migrations stay applied.
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

/** Names of the migrations in `folder`, in order. */
export function migrationsIn(folder) {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort();
}

async function apply(client, name, sql) {
  try {
    await client.query('BEGIN');
    await client.query(sql);
    // Replaces the record of an interrupted `prisma migrate deploy`.
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
    await client.query('ROLLBACK').catch(() => undefined); // on a broken connection the server rolls back
    throw error;
  }
}

import { createHash, randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from 'pg';
import { connectPrimary } from '#database/primary-client.js';
import { refuseTransactionPooler } from '#database/transaction-pooler.js';
import { BASELINES, type Move, moveFrom010 } from './from-0.1.0.ts';
import { type Locking, waitForLocks } from './wait-for-locks.ts';

const APPLICATION_NAME = 'tollgate-migrate';

/** The advisory lock of `prisma migrate deploy`, so that both exclude each other. */
const LOCK = 72_707_369;

/** First line of a migration whose one statement runs outside a transaction, for as long as it takes: it blocks no reads and writes. */
const ONLINE = /^-- online\b/;

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

export interface MigrationOptions {
  /** Receives a line for each session that holds a needed lock. Default: standard error. */
  say?: (line: string) => void;
  /** Milliseconds to wait for a lock. Default: 10 minutes. */
  lockWaitMaxMs?: number;
}

/**
 * Applies the missing migrations in `folder` in the order of their names, and returns them. Its records are compatible with
 * `prisma migrate deploy`. Unlike there, a migration and its record are one transaction: after a crash the next run continues, where
 * Prisma would wait for manual repair. An online migration has one statement that may be repeated, for what a transaction cannot contain or
 * must not hold locks for: CREATE INDEX CONCURRENTLY, VALIDATE CONSTRAINT, a DO block that commits after each batch of rows.
 *
 * Concurrent runs wait for each other. Requests never wait long behind a migration that waits for a lock (wait-for-locks.ts).
 * @throws {Error} with the failed migration and its reason; earlier migrations stay applied.
 */
export async function applyMigrations(
  ownerUrl: string,
  folder: string,
  { say = console.error, lockWaitMaxMs = LOCK_WAIT_MAX_MS }: MigrationOptions = {},
): Promise<string[]> {
  await refuseTransactionPooler(ownerUrl, APPLICATION_NAME);
  const connect = () => connectPrimary({ connectionString: ownerUrl, application_name: APPLICATION_NAME });
  const [client, watcher] = await Promise.all([connect(), connect()]);
  try {
    await client.query('SET search_path = public');
    const locking = { client, watcher, waitMaxMs: lockWaitMaxMs, say };
    await waitForLocks(locking, () => client.query('SELECT pg_advisory_lock($1)', [LOCK]));
    await client.query(TABLE);
    const { rows } = await client.query<{ migration_name: string }>(
      'SELECT migration_name FROM _prisma_migrations WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL',
    );
    const applied = new Set(rows.map((row) => row.migration_name));
    const readMigration = (name: string): string => readFileSync(join(folder, name, 'migration.sql'), 'utf8');
    const move = moveFrom010([...applied], readMigration);
    if (move) await applyMove(locking, move, readMigration);
    const pending = migrationsIn(folder).filter((name) => !applied.has(name));
    for (const name of pending) {
      if (move && BASELINES.includes(name)) continue;
      const sql = readMigration(name);
      await (ONLINE.test(sql) ? applyOnline : applyAtOnce)(locking, name, sql).catch((error: Error) => {
        throw new Error(`${name}: ${error.message}`, { cause: error });
      });
    }
    return pending;
  } finally {
    await Promise.all([client.end(), watcher.end()]);
  }
}

/** Names of the migrations in `folder`, in order. */
export function migrationsIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort();
}

function applyAtOnce(locking: Locking, name: string, sql: string): Promise<void> {
  return inTransaction(locking, async (client) => {
    await client.query(sql);
    await record(client, name, sql);
  });
}

/** Brings a database of version 0.1.0 to the baselines, whose records replace those of its migrations. */
function applyMove(locking: Locking, { sql, former }: Move, readMigration: (name: string) => string): Promise<void> {
  return inTransaction(locking, async (client) => {
    await client.query(sql);
    await client.query('DELETE FROM _prisma_migrations WHERE migration_name = ANY ($1)', [former]);
    for (const name of BASELINES) await record(client, name, readMigration(name));
  });
}

function inTransaction(locking: Locking, work: (client: Client) => Promise<void>): Promise<void> {
  const { client } = locking;
  return waitForLocks(locking, async () => {
    try {
      await client.query('BEGIN');
      await work(client);
      await client.query('COMMIT');
    } catch (error) {
      await client.query('ROLLBACK').catch(() => undefined); // on a broken connection the server rolls back
      throw error;
    }
  });
}

/** A run that was killed between statement and record is repeated. */
async function applyOnline(locking: Locking, name: string, sql: string): Promise<void> {
  const { client } = locking;
  const statements = await statementsOnPartitions(client, sql);
  for (const statement of statements ?? [sql]) {
    const work = async (): Promise<void> => {
      await dropUnfinishedIndex(client, statement);
      await client.query(statement);
    };
    await waitForLocks(locking, work, { blocksRequests: false });
  }
  // Takes the indexes of the partitions, so it builds none.
  if (statements) await waitForLocks(locking, () => client.query(sql.replace(' CONCURRENTLY', '')));
  await record(client, name, sql);
}

const CREATE_INDEX = /CREATE (?:UNIQUE )?INDEX CONCURRENTLY IF NOT EXISTS (\w+) ON (\w+)\.(\w+)/;

/**
 * Returns statements that build the index in each partition of its table, because Postgres cannot build the index of a partitioned table
 * beside writes; none while it has no partition. Undefined for other tables and statements.
 */
async function statementsOnPartitions(client: Client, sql: string): Promise<string[] | undefined> {
  const [head, index, schema, table] = CREATE_INDEX.exec(sql) ?? [];
  if (head === undefined) return undefined;
  const named = [`${schema}.${table}`];
  const { rowCount } = await client.query("SELECT FROM pg_class WHERE oid = to_regclass($1) AND relkind = 'p'", named);
  if (rowCount === 0) return undefined;
  const { rows } = await client.query<{ part: string; schema: string }>(
    `SELECT p.relname AS part, n.nspname AS schema FROM pg_inherits JOIN pg_class p ON p.oid = inhrelid JOIN pg_namespace n ON n.oid = relnamespace
     WHERE inhparent = to_regclass($1) ORDER BY 1`,
    named,
  );
  const ofTable = `${index} ON ${schema}.${table}`;
  return rows.map((row) => sql.replace(head, head.replace(ofTable, `${row.part}_${index} ON ${row.schema}.${row.part}`)));
}

/** Drops what an interrupted CREATE INDEX CONCURRENTLY has left: an index that queries do not use, and IF NOT EXISTS takes for a good one. */
async function dropUnfinishedIndex(client: Client, sql: string): Promise<void> {
  const [, index, schema] = CREATE_INDEX.exec(sql) ?? [];
  if (index === undefined) return;
  const name = `${schema}.${index}`;
  const { rows } = await client.query('SELECT FROM pg_index WHERE indexrelid = to_regclass($1) AND NOT indisvalid', [name]);
  if (rows.length > 0) await client.query(`DROP INDEX CONCURRENTLY ${name}`);
}

async function record(client: Client, name: string, sql: string): Promise<void> {
  // Replaces the record of an interrupted `prisma migrate deploy`.
  await client.query(
    'UPDATE _prisma_migrations SET rolled_back_at = now() WHERE migration_name = $1 AND finished_at IS NULL AND rolled_back_at IS NULL',
    [name],
  );
  await client.query(
    'INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at, applied_steps_count) VALUES ($1, $2, $3, now(), 1)',
    [randomUUID(), createHash('sha256').update(sql).digest('hex'), name],
  );
}

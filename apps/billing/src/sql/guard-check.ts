import { setTimeout as delay } from 'node:timers/promises';
import type { PgConnection } from '#database/pg-connection.js';

/** Polling interval in milliseconds: requests queue behind a waiting migration for about this long. */
const POLL_INTERVAL_MS = 100;

/** Thrown by a check that was cancelled because a migration waited for it. */
export class YieldedToMigrationError extends Error {
  override readonly name = 'YieldedToMigrationError';

  constructor() {
    super('a change of the schema waited for the check');
  }
}

/**
 * Runs a check on `connection` and watches it from another. The check is cancelled when `stopping` aborts, or with
 * `YieldedToMigrationError` when a migration waits for it: all requests to a table would wait behind the migration.
 * `check` gets a signal that aborts with the reason, and must throw it between its statements.
 */
export async function guardCheck<Result>(
  { connection, connect, stopping }: { connection: PgConnection; connect: () => Promise<PgConnection>; stopping: AbortSignal },
  check: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  stopping.throwIfAborted();
  const watcher = await connect();
  const yielded = new AbortController();
  const cancelled = AbortSignal.any([stopping, yielded.signal]);
  const done = new AbortController();
  try {
    const { rows } = await connection.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    const watching = watch(watcher, rows[0]?.pid ?? 0, {
      done: done.signal,
      cancelled,
      yieldToMigration: () => yielded.abort(new YieldedToMigrationError()),
    });
    try {
      return await check(cancelled);
    } catch (error) {
      throw cancelled.aborted ? cancelled.reason : error;
    } finally {
      done.abort();
      await watching;
    }
  } finally {
    await watcher.end().catch(() => undefined);
  }
}

/** Runs work that may take minutes on a connection of its own, as a guarded check. */
export async function runGuarded<Result>(
  connect: () => Promise<PgConnection>,
  stopping: AbortSignal,
  work: (connection: PgConnection, signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  stopping.throwIfAborted();
  const connection = await connect();
  try {
    return await guardCheck({ connection, connect, stopping }, (signal) => work(connection, signal));
  } finally {
    await connection.end().catch(() => undefined);
  }
}

/** A change waits for a lock of the check, or for the end of its snapshot, as CREATE INDEX CONCURRENTLY does. */
const SCHEMA_CHANGE_WAITS = `SELECT 1 FROM pg_locks waits JOIN pg_locks has
    ON has.relation = waits.relation AND has.database = waits.database AND waits.mode = 'AccessExclusiveLock'
      OR has.virtualxid = waits.virtualxid
  WHERE has.pid = $1 AND has.granted AND NOT waits.granted AND waits.pid <> $1`;

/** Repeats the cancellation, because a cancel that arrives between two statements has no effect. Never throws. */
async function watch(
  watcher: PgConnection,
  pid: number,
  { done, cancelled, yieldToMigration }: { done: AbortSignal; cancelled: AbortSignal; yieldToMigration: () => void },
): Promise<void> {
  const wake = AbortSignal.any([done, cancelled]);
  while (!done.aborted) {
    try {
      if (!cancelled.aborted && (await watcher.query(SCHEMA_CHANGE_WAITS, [pid])).rowCount) yieldToMigration();
      if (cancelled.aborted && !done.aborted) await watcher.query('SELECT pg_cancel_backend($1)', [pid]);
    } catch {
      // Without this connection the check runs unwatched until it ends.
    }
    await delay(POLL_INTERVAL_MS, undefined, { signal: cancelled.aborted ? done : wake }).catch(() => undefined);
  }
}

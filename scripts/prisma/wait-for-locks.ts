import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';

/** Milliseconds that requests may wait behind a waiting migration: well below their timeout. */
const LOCK_TIMEOUT_MS = 300;
/** Pause between two attempts, in which queued requests run. */
const PAUSE_MS = 700;
const WATCH_MS = 50;
const LOCK_NOT_AVAILABLE = '55P03';

export interface Locking {
  client: Client;
  /** Another connection, which finds the sessions with the locks. */
  watcher: Client;
  waitMaxMs: number;
  /** Gets a line for each session with a needed lock. */
  say(line: string): void;
}

/**
 * Retries `work` until it gets its locks. Each attempt waits for a lock for a moment only, and then lets queued requests pass; with
 * `blocksRequests` false there is one long attempt. `work` must leave nothing that a repetition would stumble over. Throws after `waitMaxMs`.
 */
export async function waitForLocks<Result>(
  { client, watcher, waitMaxMs, say }: Locking,
  work: () => Promise<Result>,
  { blocksRequests = true }: { blocksRequests?: boolean } = {},
): Promise<Result> {
  const until = performance.now() + waitMaxMs;
  const lockTimeoutMs = blocksRequests ? LOCK_TIMEOUT_MS : Math.max(LOCK_TIMEOUT_MS, waitMaxMs);
  const { rows } = await client.query<{ pid: number }>(
    `SELECT pg_backend_pid() AS pid, set_config('lock_timeout', '${lockTimeoutMs}ms', false)`,
  );
  const said = new Set<string>();
  const sayOnce = (line: string): void => {
    if (said.has(line)) return;
    said.add(line);
    say(`waiting for a lock of ${line}`);
  };
  for (;;) {
    const attempt = new AbortController();
    const watching = findBlockers(watcher, rows[0]?.pid, attempt.signal, sayOnce);
    try {
      return await work();
    } catch (error) {
      if ((error as { code?: string }).code !== LOCK_NOT_AVAILABLE) throw error;
      attempt.abort();
      const blockers = await watching;
      blockers.forEach(sayOnce);
      if (performance.now() > until) {
        const waited = `no lock within ${Math.round(waitMaxMs / 1000)} s, because of ${blockers.join(', ') || 'another session'}`;
        throw new Error(waited, { cause: error });
      }
    } finally {
      attempt.abort();
    }
    await delay(PAUSE_MS);
  }
}

/** Describes the sessions that last blocked `pid`. Says those that block it for longer than an attempt. Polls until `signal` aborts. */
async function findBlockers(watcher: Client, pid: number | undefined, signal: AbortSignal, say: (line: string) => void): Promise<string[]> {
  let blockers: string[] = [];
  let blockedAt: number | undefined;
  while (!signal.aborted) {
    await delay(WATCH_MS, undefined, { signal }).catch(() => undefined);
    const found = await watcher.query<Blocker>(BLOCKERS, [pid]).catch(() => ({ rows: [] }));
    if (found.rows.length === 0) {
      blockedAt = undefined;
      continue;
    }
    blockers = found.rows.map(describe);
    blockedAt ??= performance.now();
    if (performance.now() - blockedAt > LOCK_TIMEOUT_MS) blockers.forEach(say);
  }
  return blockers;
}

/** Only columns that every user may read: queries are visible to their own user and to superusers alone. */
const BLOCKERS = `SELECT pid, usename AS user, application_name AS application, to_char(xact_start, 'YYYY-MM-DD HH24:MI:SS TZ') AS since
  FROM pg_stat_activity WHERE pid = ANY (pg_blocking_pids($1)) ORDER BY pid`;

interface Blocker {
  pid: number;
  user: string | null;
  application: string | null;
  since: string | null;
}

function describe({ pid, user, application, since }: Blocker): string {
  return `${application || 'a session'} (process ${pid} of user ${user}${since ? `, in a transaction since ${since}` : ''})`;
}

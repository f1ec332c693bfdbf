import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '#testing/test-database.js';

const ADDED = '20991231000000_added';

let database: TestDatabase;
let folder: string;
let clients: pg.Client[];
beforeEach(async () => {
  database = await createTestDatabase();
  clients = [];
  folder = mkdtempSync(join(tmpdir(), 'tollgate-migrations-'));
  cpSync('prisma/migrations', folder, { recursive: true });
  add('ALTER TABLE billing.account ADD COLUMN added integer');
});
afterEach(async () => {
  await Promise.all(clients.map((client) => client.end()));
  await database.drop();
  rmSync(folder, { recursive: true });
});

/** Writes the migration that the tests apply. */
function add(sql: string): void {
  mkdirSync(join(folder, ADDED), { recursive: true });
  writeFileSync(join(folder, ADDED, 'migration.sql'), sql);
}

async function connect(application: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: database.url, application_name: application });
  clients.push(client);
  await client.connect();
  return client;
}

/** Starts a transaction that has read the accounts and stays open. */
async function longReader(): Promise<pg.Client> {
  const reader = await connect('a-long-report');
  await reader.query('BEGIN; SELECT count(*) FROM billing.account');
  return reader;
}

async function migrate(options: { say: (line: string) => void; lockWaitMaxMs?: number }): Promise<string[]> {
  const { applyMigrations } = await import('../../../scripts/prisma/apply-migrations.ts');
  return applyMigrations(database.url, folder, options);
}

test('a migration behind a long transaction logs what it waits for, does not block requests for long, and runs afterwards', async () => {
  const [reader, writer] = [await longReader(), await connect('requests')];
  // Milliseconds that a statement of billing may take.
  await writer.query('SET statement_timeout = 2000');
  const lines: string[] = [];
  const logged = Promise.withResolvers<void>();
  const migrated = migrate({
    say: (line) => {
      lines.push(line);
      logged.resolve();
    },
  });
  let written = 0;
  let running = true;
  const requests = (async () => {
    while (running) {
      await writer.query(
        `WITH added AS (INSERT INTO billing.account (id, name) VALUES (gen_random_uuid(), $1) RETURNING id)
         SELECT billing.record_audit('{"actor": "test"}', 'test.add', NULL, 'account/' || id, NULL, NULL, NULL) FROM added`,
        ['new'],
      );
      written++;
      await delay(5);
    }
  })();
  await logged.promise;
  const before = written;
  // Requests go on while the migration waits.
  while (written < before + 20) await delay(10);
  await reader.query('COMMIT');
  expect(await migrated).toEqual([ADDED]);
  running = false;
  await requests;
  expect(lines).toEqual([
    expect.stringMatching(/^waiting for a lock of a-long-report \(process \d+ of user \w+, in a transaction since \d{4}-\d\d-\d\d .*\)$/),
  ]);
});

test('a migration that never gets its lock fails, names the holder of the lock, and leaves nothing', async () => {
  const reader = await longReader();
  await expect(migrate({ say: () => undefined, lockWaitMaxMs: 1 })).rejects.toThrow(
    /^20991231000000_added: no lock within 0 s, because of a-long-report \(process \d+ of user /,
  );
  await reader.query('COMMIT');
  const { rows } = await reader.query('SELECT FROM _prisma_migrations WHERE migration_name = $1', [ADDED]);
  expect(rows).toEqual([]);
  expect(await migrate({ say: () => undefined })).toEqual([ADDED]);
});

test('a second migration waits for the first, and has nothing left to do', async () => {
  const reader = await longReader();
  const first = migrate({ say: () => undefined });
  const waiting = `SELECT FROM pg_locks WHERE locktype = 'relation' AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
  const observer = await connect('observer');
  while ((await observer.query(waiting)).rowCount === 0) await delay(5);
  const lines: string[] = [];
  const logged = Promise.withResolvers<void>();
  const second = migrate({
    say: (line) => {
      lines.push(line);
      logged.resolve();
    },
  });
  await logged.promise;
  await reader.query('COMMIT');
  expect([await first, await second]).toEqual([[ADDED], []]);
  expect(lines).toEqual([expect.stringMatching(/^waiting for a lock of tollgate-migrate \(process \d+ of user /)]);
});

describe('an online migration', () => {
  beforeEach(() => add('-- online\nCREATE INDEX CONCURRENTLY IF NOT EXISTS account_added ON billing.account (name)'));

  /** Starts a transaction that holds the lock of a writer. */
  async function longWriter(): Promise<pg.Client> {
    const writer = await connect('a-long-import');
    await writer.query('BEGIN; LOCK TABLE billing.account IN ROW EXCLUSIVE MODE');
    return writer;
  }

  /** Returns whether the index may be used; nothing without the index. */
  async function indexIsValid(client: pg.Client): Promise<unknown[]> {
    const { rows } = await client.query(`SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('billing.account_added')`);
    return rows.map(({ indisvalid }) => indisvalid);
  }

  test('logs what it waits for, blocks no writes meanwhile, and ends when it can', async () => {
    const [writer, other] = [await longWriter(), await connect('requests')];
    const logged = Promise.withResolvers<string>();
    const migrated = migrate({ say: logged.resolve });
    expect(await logged.promise).toMatch(/^waiting for a lock of a-long-import \(process \d+ of user \w+, in a transaction since /);
    await other.query(`SET lock_timeout = 100; BEGIN; LOCK TABLE billing.account IN ROW EXCLUSIVE MODE; COMMIT`);
    await writer.query('COMMIT');
    expect(await migrated).toEqual([ADDED]);
    expect(await indexIsValid(other)).toEqual([true]);
  });

  test('that is killed while it builds an index builds it anew in the next run', async () => {
    const [writer, other] = [await longWriter(), await connect('other')];
    const failed = expect(migrate({ say: () => undefined })).rejects.toThrow(/^20991231000000_added: /);
    const waiting = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    while ((await other.query(waiting)).rowCount === 0) await delay(5);
    await failed;
    await writer.query('COMMIT');
    expect(await indexIsValid(other)).toEqual([false]);
    expect(await migrate({ say: () => undefined })).toEqual([ADDED]);
    expect(await indexIsValid(other)).toEqual([true]);
  });

  test('that is killed before its record runs again', async () => {
    const other = await connect('other');
    await other.query('CREATE INDEX account_added ON billing.account (name)');
    expect([await migrate({ say: () => undefined }), await migrate({ say: () => undefined })]).toEqual([[ADDED], []]);
  });

  test('builds the index of a partitioned table in each partition, also after it was killed', async () => {
    add('-- online\nCREATE INDEX CONCURRENTLY IF NOT EXISTS settlement_added ON billing.settlement (reason) WHERE cost > 0');
    const [reader, other] = [await connect('a-long-report'), await connect('other')];
    await reader.query('BEGIN; LOCK TABLE journal.settlement_default IN ROW EXCLUSIVE MODE');
    const failed = expect(migrate({ say: () => undefined })).rejects.toThrow(/^20991231000000_added: /);
    const waiting = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    while ((await other.query(waiting)).rowCount === 0) await delay(5);
    await failed;
    await reader.query('COMMIT');
    expect(await migrate({ say: () => undefined })).toEqual([ADDED]);
    const { rows } = await other.query(`SELECT p.relname AS part, i.indexrelid::regclass::text AS index, i.indisvalid AS valid
      FROM pg_inherits t JOIN pg_class p ON p.oid = t.inhrelid JOIN pg_index i ON i.indrelid = p.oid
      WHERE t.inhparent = 'billing.settlement'::regclass
        AND EXISTS (SELECT FROM pg_inherits WHERE inhrelid = i.indexrelid AND inhparent = 'billing.settlement_added'::regclass) ORDER BY 1`);
    expect(rows).toHaveLength(4);
    expect(rows).toEqual(rows.map(({ part }) => ({ part, index: `journal.${part}_settlement_added`, valid: true })));
  });
});

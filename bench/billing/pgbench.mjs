import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const CLIENTS = 16;

const TABLES = `
  DROP SCHEMA IF EXISTS bench CASCADE; CREATE SCHEMA bench;
  CREATE TABLE bench.account (id int PRIMARY KEY, balance numeric(38,0) NOT NULL, held numeric(38,0) NOT NULL DEFAULT 0,
    CHECK (held >= 0), CHECK (held <= balance)) WITH (fillfactor = 10);
  CREATE TABLE bench.hold (id uuid PRIMARY KEY, account int NOT NULL, amount bigint NOT NULL);
  CREATE TABLE bench.settlement (hold uuid PRIMARY KEY, account int NOT NULL, cost bigint NOT NULL, at timestamptz NOT NULL DEFAULT now());
  INSERT INTO bench.account SELECT id, 1e24 FROM generate_series(1, 1000) id;`;

/** Two transactions a pair, as in a service without batches. They check less than billing does. */
const PAIR = (/** @type {number} */ accounts) => `
\\set account random(1, ${accounts})
SELECT gen_random_uuid() AS hold \\gset
WITH taken AS (UPDATE bench.account SET held = held + 1000000000 WHERE id = :account AND balance - held >= 1000000000 RETURNING id)
  INSERT INTO bench.hold SELECT ':hold', id, 1000000000 FROM taken;
WITH ended AS (DELETE FROM bench.hold WHERE id = ':hold' RETURNING account, amount),
  noted AS (INSERT INTO bench.settlement (hold, account, cost) SELECT ':hold', account, 500000000 FROM ended)
  UPDATE bench.account a SET held = held - e.amount, balance = balance - 500000000 FROM ended e WHERE a.id = e.account;
`;

/**
 * pgbench on the same server, ${CLIENTS} connections.
 *
 * @param {string} databaseUrl @param {number} accounts @param {number} seconds @returns {Promise<import('./run.mjs').Sample>}
 */
export async function runPgbench(databaseUrl, accounts, seconds) {
  const program = findPgbench();
  if (!program) return { pairsPerSecond: Number.NaN, p50: Number.NaN, p99: Number.NaN, errors: 0 };
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-pgbench-'));
  try {
    await writeFile(join(folder, 'tables.sql'), TABLES);
    await writeFile(join(folder, 'pair.sql'), PAIR(accounts));
    await run(program.replace(/pgbench$/, 'psql'), [databaseUrl, '-q', '-v', 'ON_ERROR_STOP=1', '-f', join(folder, 'tables.sql')]);
    const flags = ['-n', '-M', 'simple', '-c', String(CLIENTS), '-j', '2', '-T', String(seconds), '-f', join(folder, 'pair.sql'), '-l'];
    const { stdout } = await run(program, [...flags, `--log-prefix=${join(folder, 'log')}`, databaseUrl], { maxBuffer: 1 << 20 });
    return { pairsPerSecond: Number(/tps = ([\d.]+)/.exec(stdout)?.[1]), ...(await latencies(folder)), errors: 0 };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Latency of a reserve, approximated by half of a pair's time. @param {string} folder */
async function latencies(folder) {
  const { readFile } = await import('node:fs/promises');
  const files = readdirSync(folder).filter((name) => name.startsWith('log'));
  const texts = await Promise.all(files.map((name) => readFile(join(folder, name), 'utf8')));
  const times = texts
    .flatMap((text) => text.trim().split('\n'))
    .map((line) => Number(line.split(' ')[2]) / 2_000)
    .sort((a, b) => a - b);
  const at = (/** @type {number} */ share) => times[Math.floor(times.length * share)] ?? 0;
  return { p50: at(0.5), p99: at(0.99) };
}

/** Finds pgbench on PATH or beside Debian's server programs. */
function findPgbench() {
  const root = '/usr/lib/postgresql';
  const versions = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a)) : [];
  return [...versions.map((version) => join(root, version, 'bin/pgbench')), '/usr/bin/pgbench'].find((path) => existsSync(path));
}

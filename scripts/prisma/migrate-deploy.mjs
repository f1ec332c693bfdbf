/**
 * Applies the pending migrations of `prisma/migrations` to `DATABASE_URL`: what `prisma migrate deploy` does, with the same
 * `_prisma_migrations` table and checksums, without its CLI and without a download. Exits 1 when one fails.
 *
 * `DATABASE_URL` is the owner's. The users that `BILLING_DATABASE_URL` and `CATALOG_DATABASE_URL` name, if any, are made and given
 * what their services need and no more (service-roles.mjs).
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureServiceRoles } from './service-roles.mjs';

const FOLDER = fileURLToPath(new URL('../../prisma/migrations', import.meta.url));
const ENGINE = fileURLToPath(new URL('./schema-engine.mjs', import.meta.url));
const LOCK_FILE = 'migration_lock.toml';

const url = process.env.DATABASE_URL;
if (!url) fail('DATABASE_URL is not set: which database should be migrated?');
const reply = await call(url, 'applyMigrations', {
  migrationsList: {
    baseDir: FOLDER,
    lockfile: { path: LOCK_FILE, content: readFileSync(join(FOLDER, LOCK_FILE), 'utf8') },
    shadowDbInitScript: '',
    migrationDirectories: migrations(),
  },
  filters: { externalTables: [], externalEnums: [] },
});
const { BILLING_DATABASE_URL: billing, CATALOG_DATABASE_URL: catalog } = process.env;
const roles = await ensureServiceRoles(url, { billing, catalog }).catch((error) => fail(`users of the services: ${error.message}`));
if (roles.length > 0) console.log(`users of the services: ${roles.join(', ')}`);
const applied = reply.appliedMigrationNames;
console.log(applied.length > 0 ? `migrated: ${applied.join(', ')}` : 'migrated: nothing was pending');

function migrations() {
  const folders = readdirSync(FOLDER, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return folders
    .map(({ name }) => name)
    .sort()
    .map((name) => ({ path: name, migrationFile: { path: 'migration.sql', content: read(join(FOLDER, name, 'migration.sql')) } }));
}

function read(file) {
  return existsSync(file) ? { tag: 'ok', value: readFileSync(file, 'utf8') } : { tag: 'error', value: `missing: ${file}` };
}

/** One request to the engine, in a process of its own. */
async function call(databaseUrl, method, params) {
  const engine = spawn(process.execPath, [ENGINE, '--datasource', JSON.stringify({ url: databaseUrl })], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let output = '';
  engine.stdout.on('data', (bytes) => {
    output += bytes;
  });
  engine.stdin.end(`${JSON.stringify({ id: 1, jsonrpc: '2.0', method, params })}\n`);
  const [code] = await once(engine, 'close');
  const { result, error } = JSON.parse(output.trim().split('\n').pop() || '{}');
  if (error || !result) fail(`migration failed: ${error?.data?.message ?? error?.message ?? `the engine exited with ${code}`}`);
  return result;
}

function fail(message) {
  console.error(message);
  process.exit(1);
}

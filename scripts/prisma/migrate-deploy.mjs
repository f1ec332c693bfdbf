/**
 * Brings the database of `DATABASE_URL` up to date with `prisma/migrations`, and makes the users that `BILLING_DATABASE_URL` and
 * `CATALOG_DATABASE_URL` name, if any, with what their services need and no more (service-roles.mjs). `DATABASE_URL` is the owner's.
 * May be killed and run again at any time. Exits 1 with one line when it fails.
 */
import { fileURLToPath } from 'node:url';

// Before anything large is loaded: the kernel drops what the first process of a container does not handle. Codes as a shell has them.
process.on('SIGTERM', () => process.exit(143));
process.on('SIGINT', () => process.exit(130));

const { applyMigrations } = await import('./apply-migrations.mjs');
const { ensureServiceRoles } = await import('./service-roles.mjs');

const FOLDER = fileURLToPath(new URL('../../prisma/migrations', import.meta.url));

const { DATABASE_URL: owner, BILLING_DATABASE_URL: billing, CATALOG_DATABASE_URL: catalog } = process.env;
if (!owner) fail('DATABASE_URL is not set: which database should be migrated?');
const applied = await applyMigrations(owner, FOLDER).catch((error) => fail(`migration failed: ${error.message}`));
const roles = await ensureServiceRoles(owner, { billing, catalog }).catch((error) => fail(`users of the services: ${error.message}`));
if (roles.length > 0) console.log(`users of the services: ${roles.join(', ')}`);
console.log(applied.length > 0 ? `migrated: ${applied.join(', ')}` : 'migrated: nothing was pending');

function fail(message) {
  console.error(message);
  process.exit(1);
}

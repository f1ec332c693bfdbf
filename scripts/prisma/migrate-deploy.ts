/**
 * Migrates the database of `DATABASE_URL`, the owner's, and creates the users of `BILLING_DATABASE_URL`,
 * `CATALOG_DATABASE_URL`, `PANEL_DATABASE_URL` and `PAYMENTS_DATABASE_URL` with the rights in service-roles.ts. Can be killed and repeated at any time. Fails with one line and exit code 1.
 */
import { fileURLToPath } from 'node:url';

// Installed before anything is loaded: the kernel drops unhandled signals to the first process of a container. Exit codes as in a shell.
process.on('SIGTERM', () => process.exit(143));
process.on('SIGINT', () => process.exit(130));

const { findUrlFault } = await import('#database/postgres-url.js');
const { applyMigrations, migrationsIn } = await import('./apply-migrations.ts');
const { ensureServiceRoles } = await import('./service-roles.ts');

const FOLDER = fileURLToPath(new URL('../../prisma/migrations', import.meta.url));

const {
  DATABASE_URL: owner,
  BILLING_DATABASE_URL: billing,
  CATALOG_DATABASE_URL: catalog,
  PANEL_DATABASE_URL: panel,
  PAYMENTS_DATABASE_URL: payments,
} = process.env;
if (!owner) fail('DATABASE_URL is not set');
const fault = findUrlFault(owner);
if (fault) fail(`DATABASE_URL: ${fault}`);
const applied = await applyMigrations(owner, FOLDER).catch((error: Error) => fail(`migration failed: ${error.message}`));
const roles = await ensureServiceRoles(owner, { billing, catalog, panel, payments }, { known: migrationsIn(FOLDER) }).catch(
  (error: Error) => fail(`database users failed: ${error.message}`),
);
if (roles.length > 0) console.log(`database users: ${roles.join(', ')}`);
console.log(applied.length > 0 ? `migrated: ${applied.join(', ')}` : 'migrated: nothing pending');

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}

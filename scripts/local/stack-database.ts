import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { commonEnvironment } from './environments.ts';
import { type LocalPostgres, localPostgres, postgresAnswers } from './postgres.ts';
import { NODE, ROOT, StartError, scriptOf } from './project.mjs';
import { runCommand } from './run-command.mjs';
import { byName, DATABASE_SERVICES, type DatabaseService, type Secrets } from './secrets.ts';
import type { Status } from './status.mjs';
import type { Supervisor } from './supervisor.ts';

type DatabaseUrls = Record<'owner' | DatabaseService, string>;

/** A digest of the database and the migrations of the last start. */
export const MIGRATED_FILE = 'migrated';

/** Starts the database. Returns the URLs of the owner and of each service. */
export async function startDatabase({
  databaseUrl,
  serviceDatabaseUrls = {},
  dataDir,
  port,
  secrets,
  durable = true,
  supervisor,
  status,
}: {
  databaseUrl?: string | undefined;
  serviceDatabaseUrls?: Partial<Record<DatabaseService, string | undefined>>;
  dataDir: string;
  durable?: boolean;
  port: number;
  secrets: Secrets;
  supervisor: Supervisor;
  status: Status;
}): Promise<DatabaseUrls> {
  if (databaseUrl) {
    await serverAt('DATABASE_URL', databaseUrl, 'postgres://user:password@host:5432/database', postgresAnswers);
    status.say('postgres', 'uses DATABASE_URL');
    return { owner: databaseUrl, ...byName(DATABASE_SERVICES, (name) => serviceDatabaseUrls[name] || databaseUrl) };
  }
  const local = await localPostgres({ dataDir, port, password: secrets.postgresPassword, durable, step: status.step });
  await supervisor.start(local.program);
  status.say('postgres', `127.0.0.1:${port}`);
  return { owner: local.url, ...byName(DATABASE_SERVICES, (name) => serviceUrl(local, name, secrets)) };
}

/**
 * Migrates the database. `schemaIsThere` resolves when services may start: at once, if the last start left this version's schema, because
 * they check it too.
 */
export function migrateDatabase({
  dataDir,
  urls,
  isOwn,
  status,
}: {
  dataDir: string;
  urls: DatabaseUrls;
  isOwn: boolean;
  status: Status;
}): {
  schemaIsThere: Promise<void>;
  done: Promise<void>;
} {
  const file = join(dataDir, MIGRATED_FILE);
  const names = readdirSync(join(ROOT, 'prisma/migrations')).sort();
  const schema = createHash('sha256')
    .update([urls.owner, ...names].join('\n'))
    .digest('hex');
  const wasThere = existsSync(file) && readFileSync(file, 'utf8') === schema;
  const done = status.step('migrations', async () => {
    const script = scriptOf(ROOT, 'scripts/prisma/migrate-deploy'); // a bundle in the npm package
    const variables = {
      DATABASE_URL: urls.owner,
      BILLING_DATABASE_URL: urls.billing,
      CATALOG_DATABASE_URL: urls.catalog,
      PANEL_DATABASE_URL: urls.panel,
      PAYMENTS_DATABASE_URL: urls.payments,
    };
    const env = { ...commonEnvironment(), ...variables };
    const output = await runCommand(NODE, [script], { cwd: ROOT, env, failure: isOwn ? 'migrations' : 'DATABASE_URL' });
    writeFileSync(file, schema, { mode: 0o600 });
    return describeMigrations(output);
  });
  return { schemaIsThere: wasThere ? Promise.resolve() : done, done };
}

/** URL of a service's own user on a local server, by its Unix socket if it has one. */
function serviceUrl({ url, socketFolder }: LocalPostgres, service: DatabaseService, secrets: Secrets): string {
  const search = socketFolder === undefined ? '' : `?${new URLSearchParams({ host: socketFolder })}`;
  return Object.assign(new URL(url), { username: `tollgate_${service}`, password: secrets.servicePasswords[service], search }).href;
}

/** Host and port of an existing server, the first of several. @throws {StartError} when the URL is unlike `example`, or no server answers. */
export async function serverAt(
  variable: string,
  url: string,
  example: string,
  answers: (host: string, port: number) => Promise<boolean>,
): Promise<{ host: string; port: number }> {
  const first = url.replace(/,[^/?#@]*(?=[/?#]|$)/, ''); // of several hosts
  const { protocol, hostname, port } = URL.canParse(first) ? new URL(first) : { protocol: '', hostname: '', port: '' };
  const wanted = new URL(example);
  if (!hostname || protocol.replace('postgresql:', 'postgres:') !== wanted.protocol)
    throw new StartError(`${variable} must be a URL such as ${example}`);
  const server = { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || wanted.port) };
  if (await answers(server.host, server.port)) return server;
  throw new StartError(`${variable}: no server answers at ${hostname}:${server.port}`);
}

function describeMigrations(output: string): string {
  const [, names = ''] = /^migrated: (.*)$/m.exec(output) ?? [];
  const count = names.split(', ').length;
  return names === 'nothing pending' ? names : `applied ${count === 1 ? names : count}`;
}

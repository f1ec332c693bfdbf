import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Layout, ServiceEnv, ServiceName } from '../../../scripts/local/services.ts';
import type { ProgramName, RunningStack, StackFacts } from '../../../scripts/local/stack.ts';
import { createTestDatabase } from './test-database.js';
import { requiredVariable } from './test-environment.js';

/** Addresses and credentials of a running system. */
export type StackInfo = StackFacts;
export type { Layout, ProgramName, RunningStack, ServiceName };

/** The services of a request to a model. */
const REQUEST_PATH: ServiceName[] = ['billing', 'catalog', 'upstream-sim', 'inference-proxy', 'gateway'];
/** Bundles start in half the time. The common system, and `npm start`, run `dist` as it is shipped. */
const START = { durable: false, demo: false, bundled: true, quiet: true } as const;
/** `TEST_LAYOUT=all` runs the services of each system in one process. */
export const LAYOUT: Layout = process.env.TEST_LAYOUT === 'all' ? 'all' : 'split';
/** Layouts of the tests that run in each: both, or that of `TEST_LAYOUT`. */
export const LAYOUTS: readonly Layout[] = process.env.TEST_LAYOUT ? [LAYOUT] : ['split', 'all'];
const LOCAL = fileURLToPath(new URL('../../../.local/', import.meta.url));

/** The system that all end-to-end tests share. Create a tenant of your own in it, and keep it running. */
export function stack(): StackInfo {
  return JSON.parse(requiredVariable('TEST_STACK')) as StackInfo;
}

/**
 * The second system that end-to-end tests share, for those that add models with upstreams of their own (`offerModels`); without the panel.
 * Their names are unique, and they are removed at the end.
 */
export function catalogStack(): StackInfo {
  return JSON.parse(requiredVariable('TEST_CATALOG_STACK')) as StackInfo;
}

/**
 * Starts a system of the test's own, to kill its parts or change settings; takes a few seconds. `env` goes to every service,
 * `serviceEnv` to one. `natsUrl` is a server of the test's own, with the passwords in variables of this process. There is no demo account,
 * and the panel runs only if `services` names it. `stop` removes the data.
 */
export async function startPrivateStack(
  options: {
    env?: Record<string, string>;
    serviceEnv?: ServiceEnv;
    /** `all` for tests that kill no service alone: it starts sooner. Default: `split`. */
    layout?: Layout;
    services?: ServiceName[];
    natsUrl?: string;
    /** A Postgres server for this system, for tests that start replicas, stop it or read its files. Otherwise a database of the common one. */
    ownPostgres?: boolean;
    /** Its own Postgres can be killed without losing its last commits. */
    durable?: boolean;
    /** A Postgres of the test's own, with one user for all services. */
    databaseUrl?: string;
  } = {},
): Promise<RunningStack> {
  const { ownPostgres, ...rest } = options;
  const { removeStack, startStack } = await import('../../../scripts/local/stack.ts');
  const dataDir = `${LOCAL}test-${randomUUID()}`;
  const database = ownPostgres || options.durable || options.databaseUrl ? undefined : await createTestDatabase();
  const inDatabase = database && { databaseUrl: database.url, serviceDatabaseUrls: database.serviceUrls, migrate: false };
  const running = await startStack({ ...START, layout: LAYOUT, services: REQUEST_PATH, ...rest, ...inDatabase, dataDir });
  return {
    ...running,
    stop: async () => {
      await running.stop();
      removeStack(dataDir);
      await rm(dataDir, { recursive: true, force: true });
      await database?.drop();
    },
  };
}

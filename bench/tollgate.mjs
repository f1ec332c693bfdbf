import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { removeStack, startStack } from '../scripts/local/stack.mjs';

const DATA_DIR = fileURLToPath(new URL('../.local/bench', import.meta.url));
const CATALOG_FILE = fileURLToPath(new URL('catalog.yaml', import.meta.url));
/** Without the simulator: all targets share that of the benchmark. */
const SERVICES = /** @type {const} */ (['billing', 'catalog', 'inference-proxy', 'gateway']);

/**
 * The whole stack as `npm start` runs it, in front of `upstream`, with a new database, and without effective limits. With `profileDir`
 * the services write CPU profiles there when they stop.
 *
 * @param {import('./targets.mjs').Target} upstream @param {string | undefined} profileDir @returns {Promise<import('./targets.mjs').Target>}
 */
export async function startTollgate(upstream, profileDir) {
  if (profileDir) mkdirSync(profileDir, { recursive: true });
  removeStack(DATA_DIR);
  const stack = await startStack({
    dataDir: DATA_DIR,
    services: [...SERVICES],
    quiet: true,
    env: {
      NODE_ENV: 'production',
      LOG_LEVEL: 'info',
      ...(profileDir ? { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${resolve(profileDir)}` } : {}),
    },
    serviceEnv: { catalog: { CATALOG_FILE, UPSTREAM_LOCAL_URL: `${upstream.origin}/v1` } },
    demo: { usd: '1000000.00', requestsPerMinute: 1_000_000, concurrency: 10_000 },
  });
  return {
    name: 'Tollgate',
    origin: stack.gatewayUrl,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${stack.apiKey}` },
    pids: stack.pids(),
    stop: async () => {
      await stack.stop();
      removeStack(DATA_DIR);
    },
  };
}

/**
 * Tollgate from another checkout, which must be installed and built: measures the state before a change in the same run.
 *
 * @param {string} directory @param {import('./targets.mjs').Target} upstream @returns {Promise<import('./targets.mjs').Target>}
 */
export async function startBefore(directory, upstream) {
  const checkout = await import(pathToFileURL(resolve(directory, 'bench/tollgate.mjs')).href);
  return { ...(await checkout.startTollgate(upstream, undefined)), name: 'before' };
}

import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { ensureBundled } from '../scripts/local/bundles.ts';
import { startReplicas } from '../scripts/local/replicas.ts';
import { removeStack, startStack } from '../scripts/local/stack.ts';
import { freePort, startNode } from './child-process.mjs';

const DATA_DIR = fileURLToPath(new URL('../.local/bench', import.meta.url));
const CATALOG_FILE = fileURLToPath(new URL('catalog.yaml', import.meta.url));
const TRACE_SINK = fileURLToPath(new URL('trace-sink.mjs', import.meta.url));
/** @typedef {{ layout?: import('../scripts/local/services.ts').Layout, replicas?: number, traces?: string, budgets?: 'none' | 'all' | 'session' | 'child', profileDir?: string }} Variant */

/** Top-up of the account that all requests use; no run uses it up. */
export const TOP_UP_USD = '1000000.00';
/** Without the simulator: all targets share that of the benchmark. */
const SERVICES = /** @type {const} */ (['billing', 'catalog', 'inference-proxy', 'gateway']);
/** Sessions that requests name in turn. */
const SESSIONS = 1_000;
/** Services of which a target may have several. */
const REPLICATED = /** @type {const} */ (['billing', 'inference-proxy', 'gateway']);

/**
 * The whole stack as `npm start` runs it, in front of `upstream`, with a new database, and without effective limits. With `profileDir`
 * the services write CPU profiles there when they stop. `replicas` is the number of those of gateway, inference-proxy and billing.
 * `traces` is `off`, or the fraction of requests that are sampled, with `-down` for a collector that is not there, or the way in which it
 * misbehaves (`trace-sink.mjs`). `budgets` is `none`, or `all`: the requests name a user and a team, and count in a
 * budget on each level; with `session` each names one of a thousand sessions, lets it cost less than its budget, and counts in it;
 * with `child` the last of a chain of three child keys sends them.
 *
 * @param {import('./targets.mjs').Target} upstream @param {Variant} [variant] @returns {Promise<import('./targets.mjs').Target>}
 */
export async function startTollgate(
  upstream,
  { layout = 'split', replicas: count = 1, traces = 'off', budgets = 'none', profileDir } = {},
) {
  const hasBudgets = budgets === 'all';
  const hasSessions = budgets === 'session';
  const hasChildren = budgets === 'child';
  const suffix = { none: '', all: ', budgets', session: ', sessions', child: ', child keys' }[budgets];
  const variant = `, ${layout}${count === 1 ? '' : `, ${count} replicas`}${traces === 'off' ? '' : `, traces ${traces}`}${suffix}`;
  const dataDir = `${DATA_DIR}${variant.replaceAll(/\W+/g, '-')}`;
  if (profileDir) mkdirSync(profileDir, { recursive: true });
  removeStack(dataDir);
  await ensureBundled({ step: (_name, work) => work() }, layout === 'all' ? ['tollgate'] : SERVICES);
  const [sampled, fault] = traces.split('-');
  const sink = traces === 'off' ? undefined : await startTraceSink(fault);
  const env = {
    NODE_ENV: 'production',
    LOG_LEVEL: 'info',
    ...(profileDir ? { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${resolve(profileDir)}` } : {}),
    ...(sink && {
      OTEL_EXPORTER_OTLP_ENDPOINT: sink.url,
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: sampled,
    }),
  };
  const serviceEnv = { catalog: { CATALOG_FILE, UPSTREAM_LOCAL_URL: `${upstream.origin}/v1` } };
  const stack = await startStack({
    dataDir,
    services: [...SERVICES],
    layout,
    bundled: true,
    quiet: true,
    env,
    serviceEnv,
    demo: { usd: TOP_UP_USD, requestsPerMinute: 1_000_000, concurrency: 10_000 },
  });
  const { accountId, projectId, apiKey } = stack;
  let key = apiKey;
  if (budgets !== 'none') {
    const { MAKE_BUDGETS, findKey, makeChildKeys, setBudgets } = await import('./budgets.mjs'); // needs what is built by now
    const account = { accountId, projectId, keyId: await findKey(stack, projectId) };
    await setBudgets(stack, [account], MAKE_BUDGETS[budgets]);
    if (hasChildren) key = await makeChildKeys(stack.gatewayUrl, apiKey);
  }
  const others = Array.from({ length: count - 1 }, (_, index) => index + 2);
  const programs = layout === 'all' ? /** @type {const} */ (['tollgate']) : REPLICATED;
  const replicas = await startReplicas(
    stack,
    others.flatMap((number) => programs.map((service) => ({ name: `${service}-${number}`, service, targets: SERVICES, env, serviceEnv }))),
  );
  return {
    name: `Tollgate${variant}`,
    origin: stack.gatewayUrl,
    origins: [stack.gatewayUrl, ...Object.values(replicas.gatewayUrls)],
    headers: {
      ...{ 'content-type': 'application/json', authorization: `Bearer ${key}` },
      ...(hasBudgets && { 'x-tollgate-tags': 'team=bench' }),
      ...(hasSessions && { 'x-tollgate-session-budget': '100000' }),
    },
    ...(hasBudgets && { user: 'user-1' }),
    ...(hasSessions && { sessions: SESSIONS }),
    ledger: { databaseUrl: stack.databaseUrl, accountId },
    pids: { ...stack.pids(), ...replicas.pids() },
    stop: async () => {
      await replicas.stop();
      await stack.stop();
      await sink?.stop?.();
      removeStack(dataDir);
    },
  };
}

/** Starts a collector of traces; for `down` there is none at its address. @param {string | undefined} fault */
async function startTraceSink(fault) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  if (fault === 'down') return { url };
  const { stop } = await startNode([TRACE_SINK, String(port), ...(fault ? [fault] : [])], { url });
  return { url, stop };
}

/**
 * Tollgate from another checkout, which must be installed and built: measures the state before a change in the same run. One without the
 * layout `all` runs split.
 *
 * @param {string} directory @param {import('./targets.mjs').Target} upstream @param {Variant['layout']} [layout]
 * @returns {Promise<import('./targets.mjs').Target>}
 */
export async function startBefore(directory, upstream, layout) {
  const checkout = await import(pathToFileURL(resolve(directory, 'bench/tollgate.mjs')).href);
  return { ...(await checkout.startTollgate(upstream, layout && { layout })), name: 'before' };
}

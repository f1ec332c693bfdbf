/**
 * Benchmark of the ledger: reserves and settlements a second at `apply` and through NATS, for one hot account and for a thousand, batched
 * and one by one, with one and three replicas, beside pgbench. See ../README.md, "The ledger".
 *
 *   node bench/billing/run.mjs [--rounds N] [--seconds S] [--clients 1,64,512] [--budgets none,all] [--before DIRECTORY] [--out NAME]
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { connectPg } from '#database/pg-connection.js';
import { ensureBuilt } from '../../scripts/local/build.ts';
import { scriptOf } from '../../scripts/local/project.mjs';
import { MAKE_BUDGETS, setBudgets } from '../budgets.mjs';
import { freePort, startNode, stopChild } from '../child-process.mjs';
import { describeMachine, markdown, median, writeResult } from '../report.mjs';
import { runPgbench } from './pgbench.mjs';

/**
 * @typedef {{ pairsPerSecond: number, p50: number, p99: number, errors: number, firstError?: string }} Sample
 * @typedef {{ target: string, accounts: number, clients: number, samples: Sample[], measure(): Promise<Sample> }} Series
 *
 * Stacks measured beside one another: `name` ends the names of its targets, `root` is its checkout, and `more` goes to each load.
 * @typedef {{ name: string, root: string, stack: any, accounts: any[], more: object }} Variant
 */

const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '3' },
    clients: { type: 'string', default: '1,64,512' },
    budgets: { type: 'string', default: 'none' },
    before: { type: 'string' },
    out: { type: 'string', default: 'billing' },
  },
});
const rounds = Number(flags.rounds);
const seconds = Number(flags.seconds);
const clientCounts = flags.clients.split(',').map(Number);
const ACCOUNTS = 1_000;
const KEY_PEPPER = 'a-pepper-that-is-used-by-benchmarks-only';
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** @type {(() => Promise<unknown>)[]} */
const stops = [];
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.on(signal, () => void stopAll().then(() => process.exit(130)));
try {
  await main();
} finally {
  await stopAll();
}

async function main() {
  await ensureBuilt({ step: (/** @type {string} */ _name, /** @type {() => Promise<unknown>} */ work) => work() });
  const variants = await startVariants();
  const series = [...inProcess(variants), ...throughNats(variants), ...naive(/** @type {Variant} */ (variants[0]).stack)];
  for (let round = 0; round < rounds; round++) {
    for (const one of series) {
      const sample = await one.measure();
      one.samples.push(sample);
      const fault = sample.errors > 0 ? `, ${sample.errors} errors: ${sample.firstError}` : '';
      console.error(
        `round ${round + 1} ${one.target}, ${one.accounts} accounts, ${one.clients} clients: ${Math.round(sample.pairsPerSecond)}/s${fault}`,
      );
    }
  }
  await report(series);
  process.exitCode = series.some(({ samples }) => samples.some(({ errors }) => errors > 0)) ? 1 : 0;
}

/** This checkout with and without budgets, as `--budgets` says, then the one of `--before`. @returns {Promise<Variant[]>} */
async function startVariants() {
  /** @type {Variant[]} */
  const variants = [];
  const own = await startDatabase(ROOT);
  for (const budgets of flags.budgets.split(',')) {
    const hasBudgets = budgets === 'all';
    const accounts = await own.makeAccounts(hasBudgets);
    variants.push({ ...own, accounts, ...(hasBudgets ? { name: ', budgets', more: { users: 1 } } : { name: '', more: {} }) });
  }
  if (flags.before) {
    const before = await startDatabase(resolve(flags.before));
    variants.push({ ...before, name: ', before', accounts: await before.makeAccounts(false), more: {} });
  }
  return variants;
}

/** Postgres and NATS of a checkout, which must be installed and built. @param {string} root */
async function startDatabase(root) {
  const of = (/** @type {string} */ file) => import(pathToFileURL(resolve(root, file)).href);
  const [{ removeStack, startStack }, { makeAccounts }] = [
    await of(scriptOf(root, 'scripts/local/stack')),
    await of('bench/billing/accounts.mjs'),
  ];
  const dataDir = resolve(root, '.local/bench-billing');
  removeStack(dataDir);
  const stack = await startStack({ dataDir, services: [], quiet: true });
  stops.push(async () => {
    await stack.stop();
    removeStack(dataDir);
  });
  // As the role of the service has it. The owner connects here, since stacks of earlier versions tell no other URL.
  const sql = await connectPg({ url: stack.databaseUrl, applicationName: 'bench' });
  await sql.query('ALTER ROLE CURRENT_USER SET jit = off');
  await sql.end();
  const create = async (/** @type {boolean} */ hasBudgets) => {
    const makers = await startReplicas({ root, stack }, 1, {});
    const accounts = await makeAccounts({ natsUrl: stack.natsUrl, password: stack.natsPasswords.cli, count: ACCOUNTS + 1 });
    if (hasBudgets) await setBudgets(stack, accounts, MAKE_BUDGETS.all);
    await makers.stop();
    return accounts;
  };
  return { root, stack, makeAccounts: create };
}

/** The lanes themselves, in a process of their own. @param {Variant[]} variants @returns {Series[]} */
function inProcess(variants) {
  const settings = /** @type {const} */ ([
    ['apply, one by one', 1],
    ['apply, batched', 512],
  ]);
  return scenarios().flatMap(({ count, clients }) =>
    settings.flatMap(([target, batchMax]) =>
      variants.map(({ name, root, stack, accounts, more }) => {
        const job = { databaseUrl: stack.databaseUrl, seconds, accounts, count, clients, batchMax, ...more };
        return row(target + name, count, clients, () => load(root, 'lanes', job));
      }),
    ),
  );
}

/** @param {Variant[]} variants @returns {Series[]} */
function throughNats(variants) {
  const settings = /** @type {const} */ ([
    ['NATS, one by one', 1, { BATCH_MAX: '1' }],
    ['NATS, batched', 1, {}],
    ['NATS, batched, 3 replicas', 3, {}],
  ]);
  return scenarios().flatMap(({ count, clients }) =>
    settings.flatMap(([target, replicas, env]) =>
      variants.map((variant) =>
        row(target + variant.name, count, clients, async () => {
          const { root, stack, accounts, more } = variant;
          const services = await startReplicas(variant, replicas, env);
          try {
            const job = { natsUrl: stack.natsUrl, password: stack.natsPasswords.gateway, seconds, accounts, count, clients };
            return await load(root, 'nats', { ...job, ...more });
          } finally {
            await services.stop();
          }
        }),
      ),
    ),
  );
}

/** @returns {Series[]} */
function naive(/** @type {any} */ stack) {
  return [1, ACCOUNTS].map((count) => row('pgbench, a transaction each', count, 16, () => runPgbench(stack.databaseUrl, count, seconds)));
}

function scenarios() {
  return clientCounts.flatMap((clients) => (clients === 1 ? [{ count: 1, clients }] : [1, ACCOUNTS].map((count) => ({ count, clients }))));
}

/** @returns {Series} */
function row(
  /** @type {string} */ target,
  /** @type {number} */ accounts,
  /** @type {number} */ clients,
  /** @type {() => Promise<Sample>} */ measure,
) {
  return { target, accounts, clients, samples: [], measure };
}

/** @param {Pick<Variant, 'root' | 'stack'>} variant @param {number} count @param {Record<string, string>} env */
async function startReplicas({ root, stack }, count, env) {
  const replicas = await Promise.all(
    Array.from({ length: count }, async () => {
      const port = String(await freePort());
      const settings = {
        DATABASE_URL: stack.databaseUrl,
        KEY_PEPPER,
        NATS_URL: stack.natsUrl,
        NATS_USER: 'billing',
        NATS_PASSWORD: stack.natsPasswords.billing,
        OPS_HOST: '127.0.0.1',
        OPS_PORT: port,
        LOG_LEVEL: 'warn',
      };
      return startNode([resolve(root, 'dist/apps/billing/src/main.js')], {
        env: { ...settings, ...env },
        url: `http://127.0.0.1:${port}/readyz`,
      });
    }),
  );
  const stop = () => Promise.all(replicas.map((replica) => replica.stop()));
  stops.push(stop);
  return { stop };
}

/** Runs one job in a new process, so that no target profits from the warm-up of another. @returns {Promise<Sample>} */
async function load(/** @type {string} */ root, /** @type {'lanes' | 'nats'} */ path, /** @type {object} */ job) {
  const worker = fork(resolve(root, 'bench/billing/load-worker.mjs'), {
    env: { ...process.env, NODE_OPTIONS: '', NODE_ENV: 'production' },
  });
  const stop = () => stopChild(worker);
  stops.push(stop);
  worker.send({ path, ...job });
  const [sample] = await once(worker, 'message');
  await stop();
  return sample;
}

async function report(/** @type {Series[]} */ series) {
  const heads = [
    'target',
    'accounts',
    'clients',
    'pairs/s',
    'range',
    'reserve p50 ms',
    'p99 ms',
    '× one by one',
    '× pgbench',
    ...(flags.before ? ['× before'] : []),
    'errors',
  ];
  const rate = (/** @type {Series} */ one) => median(one.samples.map((sample) => sample.pairsPerSecond));
  const rows = series.map((one) => {
    const countSame = (/** @type {string} */ target) =>
      series.find((other) => other.target === target && other.accounts === one.accounts && other.clients === one.clients);
    const single = countSame(`${one.target.split(',')[0]}, one by one`);
    const before = countSame(`${one.target.replace(/, (budgets|before)$/, '')}, before`);
    const pgbench = series.find((other) => other.target.startsWith('pgbench') && other.accounts === one.accounts);
    const rates = one.samples.map((sample) => sample.pairsPerSecond);
    const figure = (/** @type {number} */ value) => Math.round(value).toLocaleString('en');
    return [
      one.target,
      String(one.accounts),
      String(one.clients),
      figure(rate(one)),
      `${figure(Math.min(...rates))}–${figure(Math.max(...rates))}`,
      median(one.samples.map((sample) => sample.p50)).toFixed(2),
      median(one.samples.map((sample) => sample.p99)).toFixed(2),
      single ? (rate(one) / rate(single)).toFixed(1) : '–',
      pgbench ? (rate(one) / rate(pgbench)).toFixed(1) : '–',
      ...(flags.before ? [before ? (rate(one) / rate(before)).toFixed(2) : '–'] : []),
      String(one.samples.reduce((sum, sample) => sum + sample.errors, 0)),
    ];
  });
  const text = [
    `# ${new Date().toISOString().slice(0, 10)}: the ledger`,
    `Machine: ${describeMachine()}. Load, Postgres, NATS and billing share it.`,
    `Method: \`bench/README.md\`, "The ledger". A pair is one reserve and its settlement. ${rounds} rounds of ${seconds} s, medians.`,
    markdown(heads, rows),
    '',
  ].join('\n\n');
  await writeResult(text, flags.out);
}

async function stopAll() {
  for (const stop of stops.splice(0).reverse()) await stop().catch((/** @type {unknown} */ error) => console.error(String(error)));
}

/**
 * Benchmark of the ledger: reserves and settlements a second at `apply` and through NATS, for one hot account and for a thousand, batched
 * and one by one, with one and three replicas, beside pgbench. See ../README.md, "The ledger".
 *
 *   node bench/billing/run.mjs [--rounds N] [--seconds S] [--clients 1,64,512] [--out NAME]
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { ensureBuilt } from '../../scripts/local/build.mjs';
import { removeStack, startStack } from '../../scripts/local/stack.mjs';
import { freePort, startNode, stopChild } from '../child-process.mjs';
import { describeMachine, markdown, median } from '../report.mjs';
import { makeAccounts } from './accounts.mjs';
import { runPgbench } from './pgbench.mjs';

/**
 * @typedef {{ pairsPerSecond: number, p50: number, p99: number, errors: number, firstError?: string }} Sample
 * @typedef {{ target: string, accounts: number, clients: number, samples: Sample[], measure(): Promise<Sample> }} Series
 */

const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '3' },
    clients: { type: 'string', default: '1,64,512' },
    out: { type: 'string', default: 'billing' },
  },
});
const rounds = Number(flags.rounds);
const seconds = Number(flags.seconds);
const clientCounts = flags.clients.split(',').map(Number);
const ACCOUNTS = 1_000;
const DATA_DIR = fileURLToPath(new URL('../../.local/bench-billing', import.meta.url));
const KEY_PEPPER = 'a-pepper-that-is-used-by-benchmarks-only';
const here = (/** @type {string} */ path) => fileURLToPath(new URL(path, import.meta.url));

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
  removeStack(DATA_DIR);
  const stack = await startStack({ dataDir: DATA_DIR, services: [], quiet: true });
  stops.push(async () => {
    await stack.stop();
    removeStack(DATA_DIR);
  });
  const makers = await startReplicas(stack, 1, {});
  const accounts = await makeAccounts({ natsUrl: stack.natsUrl, password: stack.natsPasswords.cli, count: ACCOUNTS + 1 });
  await makers.stop();

  const series = [...inProcess(stack, accounts), ...throughNats(stack, accounts), ...naive(stack)];
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

/** The lanes themselves, in a process of their own. @returns {Series[]} */
function inProcess(/** @type {any} */ stack, /** @type {any[]} */ accounts) {
  const job = (/** @type {object} */ setting) => load('lanes', { databaseUrl: stack.databaseUrl, seconds, accounts, ...setting });
  return scenarios().flatMap(({ count, clients }) => [
    row('apply, one by one', count, clients, () => job({ count, clients, batchMax: 1 })),
    row('apply, batched', count, clients, () => job({ count, clients, batchMax: 512 })),
  ]);
}

/** @returns {Series[]} */
function throughNats(/** @type {any} */ stack, /** @type {any[]} */ accounts) {
  const settings = /** @type {const} */ ([
    ['NATS, one by one', 1, { BATCH_MAX: '1' }],
    ['NATS, batched', 1, {}],
    ['NATS, batched, 3 replicas', 3, {}],
  ]);
  return scenarios().flatMap(({ count, clients }) =>
    settings.map(([target, replicas, env]) =>
      row(target, count, clients, async () => {
        const services = await startReplicas(stack, replicas, env);
        try {
          return await load('nats', { natsUrl: stack.natsUrl, password: stack.natsPasswords.gateway, seconds, accounts, count, clients });
        } finally {
          await services.stop();
        }
      }),
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

async function startReplicas(/** @type {any} */ stack, /** @type {number} */ count, /** @type {Record<string, string>} */ env) {
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
      return startNode([here('../../dist/apps/billing/src/main.js')], {
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
async function load(/** @type {'lanes' | 'nats'} */ path, /** @type {object} */ job) {
  const worker = fork(here('load-worker.mjs'), { env: { ...process.env, NODE_OPTIONS: '', NODE_ENV: 'production' } });
  const stop = () => stopChild(worker);
  stops.push(stop);
  worker.send({ path, ...job });
  const [sample] = await once(worker, 'message');
  await stop();
  return sample;
}

async function report(/** @type {Series[]} */ series) {
  const heads = ['target', 'accounts', 'clients', 'pairs/s', 'range', 'reserve p50 ms', 'p99 ms', '× one by one', '× pgbench', 'errors'];
  const rate = (/** @type {Series} */ one) => median(one.samples.map((sample) => sample.pairsPerSecond));
  const rows = series.map((one) => {
    const single = series.find(
      (other) =>
        other.target === `${one.target.split(',')[0]}, one by one` && other.accounts === one.accounts && other.clients === one.clients,
    );
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
  console.log(text);
  const name = `${new Date().toISOString().slice(0, 10)}-${flags.out}.md`;
  await writeFile(new URL(`../results/${name}`, import.meta.url), `${text.trimEnd()}\n`);
  console.error(`written to bench/results/${name}`);
}

async function stopAll() {
  for (const stop of stops.splice(0).reverse()) await stop().catch((/** @type {unknown} */ error) => console.error(String(error)));
}

/**
 * Benchmark of growth: the CPU time of a request while one thing grows, such as accounts, settlements in the journal, ended sessions, open
 * streams, or messages of a conversation. See ../README.md, "Growth".
 *
 *   node bench/growth/run.mjs [--curves accounts,keys,settlements,streams,messages] [--accounts 1,100,10000] [--keys 1,100,900] [--settlements 0,1000000]
 *                             [--streams 1,100,1000] [--messages 3,30,300] [--sessions 0,10000000] [--seconds S] [--rounds N] [--out NAME]
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { ensureBuilt } from '../../scripts/local/build.ts';
import { removeStack, startStack } from '../../scripts/local/stack.ts';
import { addKeys, makeAccounts } from '../billing/accounts.mjs';
import { MAKE_BUDGETS, setBudgets } from '../budgets.mjs';
import { stopChild } from '../child-process.mjs';
import { cpuSeconds, residentMb } from '../cpu-time.mjs';
import { chartCurves } from '../plots/charts.mjs';
import { describeMachine, markdown, median } from '../report.mjs';
import { startUpstream } from '../targets.mjs';
import { seedSessions } from './seed-sessions.ts';
import { seedSettlements } from './seed-settlements.ts';

/**
 * One figure of a curve: `x` is what grows, `microseconds` the CPU time of one unit of work in all processes of Tollgate.
 *
 * @typedef {{ curve: string, x: number, microseconds: number, errors: number }} Point
 * @typedef {Awaited<ReturnType<typeof startStack>>} Stack
 */

const { values: flags } = parseArgs({
  options: {
    curves: { type: 'string', default: 'accounts,keys,settlements,sessions,streams,messages' },
    accounts: { type: 'string', default: '1,100,10000' },
    keys: { type: 'string', default: '1,100,900' },
    settlements: { type: 'string', default: '0,1000000' },
    streams: { type: 'string', default: '1,100,1000' },
    messages: { type: 'string', default: '3,30,300' },
    sessions: { type: 'string', default: '0,1000000' },
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '3' },
    out: { type: 'string', default: 'growth' },
  },
});
const seconds = Number(flags.seconds);
const CLIENTS = 32;
/** Tokens a second of all open streams together, as far as the pace of one stream allows. */
const TOKENS_PER_SECOND = 2_000;
const PACE = { min: 1, max: 50 };
/** A message of a conversation, in bytes. */
const MESSAGE_BYTES = 400;
const DATA_DIR = fileURLToPath(new URL('../../.local/bench-growth', import.meta.url));
const here = (/** @type {string} */ path) => fileURLToPath(new URL(path, import.meta.url));
const sizes = (/** @type {string} */ list) => list.split(',').map(Number);

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
  const { stack, headers } = await startAll();
  const administrator = { natsUrl: stack.natsUrl, password: stack.natsPasswords.cli };
  const isWanted = (/** @type {string} */ curve) => flags.curves.split(',').includes(curve);
  const count = isWanted('accounts') ? Math.max(...sizes(flags.accounts)) : 1;
  const accounts = await makeAccounts({ ...administrator, count });
  const keys = isWanted('keys') ? await addKeys({ ...administrator, account: accounts[0], count: Math.max(...sizes(flags.keys)) }) : [];
  /** @type {Record<string, { unit: string, sizes: number[], isKept?: boolean, measure(size: number): Promise<Omit<Point, 'curve' | 'x'>> }>} */
  const curves = {
    accounts: {
      unit: 'a reserve and settlement, by accounts',
      sizes: sizes(flags.accounts),
      measure: (count) => measurePairs(stack, accounts.slice(0, count)),
    },
    keys: {
      unit: 'a reserve and settlement of one account, by keys that take turns',
      sizes: sizes(flags.keys),
      measure: (count) => measurePairs(stack, keys.slice(0, count)),
    },
    streams: {
      unit: 'a token, by open streams',
      sizes: sizes(flags.streams),
      measure: (count) => measureTokens(stack, headers, count),
    },
    messages: {
      unit: 'a KiB of prompt, by messages',
      sizes: sizes(flags.messages),
      measure: (count) => measureConversation(stack, headers, count),
    },
    sessions: {
      unit: 'a reserve and settlement of a new session, by ended sessions',
      sizes: sizes(flags.sessions),
      isKept: true,
      measure: async (count) => {
        await setBudgets(stack, accounts.slice(0, 1), MAKE_BUDGETS.session);
        await seedSessions(stack.databaseUrl, count);
        return measureSessions(stack, accounts);
      },
    },
    // Last, because the journal stays large.
    settlements: {
      unit: 'a reserve and settlement, by journal rows',
      sizes: sizes(flags.settlements),
      isKept: true,
      measure: async (count) => {
        await seedSettlements(stack.databaseUrl, count);
        return measurePairs(stack, accounts.slice(0, 1));
      },
    },
  };
  /** @type {Point[]} */
  const points = [];
  for (const [name, { unit, sizes: grown, isKept, measure }] of Object.entries(curves)) {
    if (!isWanted(name)) continue;
    // What only grows must not be there before the smaller sizes are measured.
    for (const size of isKept ? grown.slice(0, 1) : grown) await measure(size); // warm-up
    for (const size of grown)
      for (let round = 0; round < Number(flags.rounds); round++) {
        const point = { curve: unit, x: size, ...(await measure(size)) };
        console.error(`${name} ${size}: ${point.microseconds.toFixed(1)} µs, ${point.errors} errors`);
        points.push(point);
      }
  }
  await report(points);
  process.exitCode = points.some(({ errors }) => errors > 0) ? 1 : 0;
}

async function startAll() {
  const upstream = await startUpstream();
  stops.push(upstream.stop);
  removeStack(DATA_DIR);
  const stack = await startStack({
    dataDir: DATA_DIR,
    services: ['billing', 'catalog', 'inference-proxy', 'gateway'],
    quiet: true,
    env: { NODE_ENV: 'production', LOG_LEVEL: 'info' },
    serviceEnv: { catalog: { CATALOG_FILE: here('../catalog.yaml'), UPSTREAM_LOCAL_URL: `${upstream.origin}/v1` } },
    demo: { usd: '1000000.00', requestsPerMinute: 1_000_000, concurrency: 10_000 },
  });
  stops.push(async () => {
    await stack.stop();
    removeStack(DATA_DIR);
  });
  return { stack, headers: { 'content-type': 'application/json', authorization: `Bearer ${stack.apiKey}` } };
}

/** @param {Stack} stack @param {object[]} accounts */
async function measurePairs(stack, accounts) {
  const job = {
    path: 'nats',
    natsUrl: stack.natsUrl,
    password: stack.natsPasswords.gateway,
    seconds,
    accounts,
    count: accounts.length,
    clients: CLIENTS,
  };
  return perUnit(stack, '../billing/load-worker.mjs', job, ({ pairs }) => pairs);
}

/**
 * Requests of sessions that are new, on an account whose ended sessions have a row each. It says what billing needs of memory and how long a
 * hold takes, which should not grow either.
 *
 * @param {Stack} stack @param {object[]} accounts
 */
async function measureSessions(stack, accounts) {
  const job = {
    ...{ path: 'nats', natsUrl: stack.natsUrl, password: stack.natsPasswords.gateway, seconds, newSessions: true },
    ...{ accounts: accounts.slice(0, 1), count: 1, clients: CLIENTS },
  };
  return perUnit(stack, '../billing/load-worker.mjs', job, ({ pairs, p50 }) => {
    const billing = residentMb(stack.pids()).billing ?? 0;
    console.error(`a hold takes ${p50.toFixed(2)} ms (median), billing ${billing.toFixed(0)} MB`);
    return pairs;
  });
}

/** @param {Stack} stack @param {Record<string, string>} headers @param {number} streams */
async function measureTokens(stack, headers, streams) {
  const rate = Math.min(PACE.max, Math.max(PACE.min, TOKENS_PER_SECOND / streams));
  const job = { kind: 'paced', origin: stack.gatewayUrl, headers, streams, rate, tokens: Math.ceil(rate * seconds * 3), seconds };
  return perUnit(stack, '../streaming/load-worker.mjs', job, ({ tokens }) => tokens);
}

/** @param {Stack} stack @param {Record<string, string>} headers @param {number} messages */
async function measureConversation(stack, headers, messages) {
  const turns = Array.from({ length: messages - 1 }, (_, index) => ({
    role: index % 2 === 0 ? 'user' : 'assistant',
    content: `${index} `.padEnd(MESSAGE_BYTES, 'the quick brown fox '),
  }));
  const body = JSON.stringify({ model: 'sim-fast', max_tokens: 16, messages: [...turns, { role: 'user', content: '[[sim tokens=1]]' }] });
  const reply = await fetch(`${stack.gatewayUrl}/v1/chat/completions`, { method: 'POST', headers, body });
  const text = (await reply.json()).choices[0].message.content;
  const job = { origins: [stack.gatewayUrl], path: '/v1/chat/completions', headers, body, text, stream: false, connections: 8, seconds };
  return perUnit(stack, '../load-worker.mjs', job, ({ requests }) => (requests * Buffer.byteLength(body)) / 1024);
}

/**
 * Runs one job in a process of its own, and divides the CPU time of the stack meanwhile by the units of work in the job's outcome.
 *
 * @param {Stack} stack @param {string} worker @param {object} job @param {(outcome: any) => number} listUnits
 */
async function perUnit(stack, worker, job, listUnits) {
  const child = fork(here(worker), { env: { ...process.env, NODE_OPTIONS: '', NODE_ENV: 'production' }, serialization: 'advanced' });
  const stop = () => stopChild(child);
  stops.push(stop);
  const before = used(stack);
  child.send(job);
  /** @type {any} */
  let outcome;
  do [outcome] = await once(child, 'message');
  while (outcome === 'connected');
  const microseconds = ((used(stack) - before) / Math.max(1, listUnits(outcome))) * 1_000_000;
  await stop();
  if (outcome.errors > 0) console.error(outcome.firstError);
  return { microseconds, errors: outcome.errors };
}

/** CPU seconds of all processes of the stack. @param {Stack} stack */
function used(stack) {
  return Object.values(cpuSeconds(stack.pids())).reduce((sum, part) => sum + part, 0);
}

/** @param {Point[]} points */
async function report(points) {
  const curves = [...new Set(points.map(({ curve }) => curve))];
  const rows = curves.flatMap((curve) => {
    const grown = [...new Set(points.filter((point) => point.curve === curve).map(({ x }) => x))];
    const middleAt = (/** @type {number | undefined} */ size) =>
      median(points.filter((point) => point.curve === curve && point.x === size).map(({ microseconds }) => microseconds));
    return grown.map((size) => [
      curve,
      size.toLocaleString('en'),
      middleAt(size).toFixed(1),
      (middleAt(size) / middleAt(grown[0])).toFixed(2),
    ]);
  });
  const name = `${new Date().toISOString().slice(0, 10)}-${flags.out}`;
  const text = [
    `# ${new Date().toISOString().slice(0, 10)}: growth`,
    `Machine: ${describeMachine()}. Load, upstream and Tollgate share it.`,
    `Method: \`bench/README.md\`, "Growth". ${flags.rounds} rounds of ${seconds} s, medians.`,
    markdown(['CPU time of', 'size', 'µs', '× the first'], rows),
    `![CPU time by size](${name}.svg)`,
  ].join('\n\n');
  console.log(text);
  const directory = new URL('../results/', import.meta.url);
  await mkdir(directory, { recursive: true });
  await writeFile(new URL(`${name}.md`, directory), `${text}\n`);
  await writeFile(new URL(`${name}.svg`, directory), `${await chartCurves(points)}\n`);
  await writeFile(new URL(`${name}.json`, directory), `[\n${points.map((point) => JSON.stringify(point)).join(',\n')}\n]\n`);
  console.error(`written to bench/results/${name}.md`);
}

async function stopAll() {
  for (const stop of stops.splice(0).reverse()) await stop().catch((/** @type {unknown} */ error) => console.error(String(error)));
}

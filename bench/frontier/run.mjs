/**
 * The frontier: how many requests and streams a second each target sustains while the 99th percentile of latency keeps a bound, with holds,
 * limits, budgets, settlements and journal on, and by how many pico-dollars the ledger is off afterwards. See docs/frontier.md.
 *
 *   node bench/frontier/run.mjs [--quick] [--bounds 5,10,25,50,100] [--modes plain,streamed] [--targets direct,minimal,portkey,split,all]
 *                               [--rounds N] [--steps N] [--seconds S] [--warm-up S] [--minutes M] [--curves accounts,keys,streams,settlements]
 *                               [--core-hour USD] [--gb-hour USD] [--disk-gb-month USD] [--journal-months N] [--utilization SHARE] [--out NAME]
 *   node bench/frontier/run.mjs --render FILE      the report of a raw file again, with the prices of the command
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { ensureBuilt } from '../../scripts/local/build.ts';
import { stopChild } from '../child-process.mjs';
import { residentMb } from '../cpu-time.mjs';
import { expectedText, loadTarget, startLoader } from '../load.mjs';
import { total } from '../report.mjs';
import { startMinimalProxy, startPortkey, startUpstream } from '../targets.mjs';
import { startTollgate, TOP_UP_USD } from '../tollgate.mjs';
import { auditMoney, picoUsd, readPrice } from './money.mjs';
import { saveFrontier } from './report.mjs';
import { nextRate } from './search.mjs';

/** @typedef {import('../targets.mjs').Target} Target @typedef {'plain' | 'streamed'} Mode @typedef {import('./report.mjs').Sample} Sample */

const { values: flags } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    bounds: { type: 'string', default: '5,10,25,50,100' },
    modes: { type: 'string', default: 'plain,streamed' },
    targets: { type: 'string', default: 'direct,minimal,portkey,split,all' },
    rounds: { type: 'string' },
    steps: { type: 'string' },
    seconds: { type: 'string' },
    'warm-up': { type: 'string' },
    minutes: { type: 'string', default: '20' },
    curves: { type: 'string' },
    'core-hour': { type: 'string', default: '0.04' },
    'gb-hour': { type: 'string', default: '0.005' },
    'disk-gb-month': { type: 'string', default: '0.10' },
    'journal-months': { type: 'string', default: '12' },
    utilization: { type: 'string', default: '0.5' },
    out: { type: 'string' },
    render: { type: 'string' },
  },
});
const settings = {
  bounds: flags.bounds.split(',').map(Number),
  modes: /** @type {Mode[]} */ (flags.modes.split(',')),
  rounds: Number(flags.rounds ?? (flags.quick ? 1 : 3)),
  steps: Number(flags.steps ?? (flags.quick ? 3 : 8)),
  seconds: Number(flags.seconds ?? (flags.quick ? 1 : 3)),
  /** Load before each measurement: a target that was idle for seconds has lost compiled code. */
  leadSeconds: flags.quick ? 0.2 : 1,
  warmUpSeconds: Number(flags['warm-up'] ?? (flags.quick ? 1 : 8)),
};
const prices = {
  coreHour: Number(flags['core-hour']),
  gbHour: Number(flags['gb-hour']),
  diskGbMonth: Number(flags['disk-gb-month']),
  journalMonths: Number(flags['journal-months']),
  utilization: Number(flags.utilization),
};
const wanted = flags.targets.split(',');
const curves = flags.curves ?? (flags.quick ? '' : 'accounts,keys,streams,settlements');
const out = flags.out ?? (flags.quick ? 'frontier-quick' : 'frontier');
const WARM_UP_CONNECTIONS = 32;
/** Below it a measurement has too few requests for a 99th percentile. */
const LOWEST_RATE = 50;
/** A target that lets a request wait for so long is overloaded: it is beyond every bound. */
const GIVE_UP_MS = 5 * Math.max(...settings.bounds);
/** A measurement during which others took more of the machine is repeated once; the quieter one counts. */
const NOISE_MAX = 0.1;
/** Connections are opened for this much more than the requests that are open at the largest bound. */
const CONNECTIONS = { min: 16, max: 512, margin: 1.5 };

/** @type {(() => Promise<void>)[]} */
const stops = [];
let stopping = false;
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.on(signal, () => void stopAll().then(() => process.exit(130)));
try {
  process.exitCode = await main();
} finally {
  await stopAll();
}

/** @returns {Promise<number>} the exit code: 1 when the ledger is off by a pico-dollar, or a reply was faulty */
async function main() {
  if (flags.render) {
    await saveFrontier({ ...JSON.parse(readFileSync(flags.render, 'utf8')), prices });
    return 0;
  }
  await ensureBuilt({ step: (/** @type {string} */ _name, /** @type {() => Promise<unknown>} */ work) => work() });
  const targets = await startTargets();
  const loader = startLoader((code) => {
    if (stopping) return;
    console.error(`the load generator ended with ${code}`);
    void stopAll().then(() => process.exit(1));
  });
  stops.push(() => stopChild(loader));
  const run = {
    loader,
    text: await expectedText(/** @type {Target} */ (targets[0])),
    usages: new Map(targets.map((one) => [one.name, {}])),
  };
  const measured = targets.filter(({ name }) => name !== 'direct' || wanted.includes(name));
  const began = new Date();
  const firstRates = await warmUp(run, measured);
  const { samples, roundsDone } = await search(run, measured, firstRates);
  const memoryMb = Object.fromEntries(measured.map((target) => [target.name, residentMb(target.pids)]));
  const money = await audit(run, measured, began);
  await stopAll();
  const growth = await runCurves();
  await saveFrontier({ settings, prices, samples, roundsDone, memoryMb, money, growth, out });
  for (const { target, errorPicoUsd } of money) console.error(`${target}: the ledger is off by ${errorPicoUsd} pico-dollars`);
  return money.every(({ errorPicoUsd }) => errorPicoUsd === '0') && samples.every(({ faults }) => faults === 0) ? 0 : 1;
}

/** Starts the upstream first, because the others call it. */
async function startTargets() {
  const upstream = await started(startUpstream());
  const targets = [upstream];
  if (wanted.includes('minimal')) targets.push(await started(startMinimalProxy(upstream)));
  if (wanted.includes('portkey')) targets.push(await started(startPortkey(upstream)));
  for (const layout of /** @type {const} */ (['split', 'all']).filter((one) => wanted.includes(one)))
    targets.push({ ...(await started(startTollgate(upstream, { layout, budgets: 'all' }))), name: `Tollgate, ${layout}` });
  return targets;
}

/** @param {Promise<Target>} starting */
async function started(starting) {
  const target = await starting;
  stops.push(target.stop);
  return target;
}

/** @typedef {{ loader: import('node:child_process').ChildProcess, text: string, usages: Map<string, import('./money.mjs').Usages> }} Run */

/**
 * Loads every target in turn until its hot code is compiled, with clients that wait for their replies. Half of what the last turn reaches
 * is where the search begins.
 *
 * @param {Run} run @param {Target[]} targets @returns {Promise<Map<string, number>>}
 */
async function warmUp(run, targets) {
  const firstRates = new Map();
  const turns = Math.max(1, Math.ceil(settings.warmUpSeconds / 4));
  for (let turn = 0; turn < turns; turn++)
    for (const mode of settings.modes)
      for (const target of targets) {
        const { outcome } = await load(run, target, { mode, connections: WARM_UP_CONNECTIONS, seconds: settings.warmUpSeconds / turns });
        firstRates.set(`${target.name} ${mode}`, outcome.requests / outcome.seconds / 2);
        console.error(`warm-up ${mode} ${target.name}: ${Math.round(outcome.requests / outcome.seconds)}/s${faultText(outcome)}`);
      }
  return firstRates;
}

/**
 * Every round searches the bounds anew. Each step goes through all targets and both modes, starting with another target each round, so that
 * noise of the machine affects all alike. When the time is over it ends; `roundsDone` are whole.
 *
 * @param {Run} run @param {Target[]} targets @param {Map<string, number>} firstRates
 */
async function search(run, targets, firstRates) {
  const end = performance.now() + Number(flags.minutes) * 60_000;
  /** @type {Sample[]} */
  const samples = [];
  for (let round = 0; round < settings.rounds; round++) {
    for (let step = 0; step < settings.steps; step++)
      for (let turn = 0; turn < targets.length; turn++)
        for (const mode of settings.modes) {
          const target = /** @type {Target} */ (targets[(turn + round) % targets.length]);
          const points = samples.filter((one) => one.round === round && one.mode === mode && one.target === target.name);
          const first = firstRates.get(`${target.name} ${mode}`) ?? LOWEST_RATE;
          const rate = nextRate(points, { bounds: settings.bounds, first, lowest: LOWEST_RATE });
          if (performance.now() > end) return { samples, roundsDone: round };
          if (rate === undefined) continue;
          const sample = { round, ...(await measureQuietly(run, target, mode, Math.round(rate), samples.length + 1)) };
          samples.push(sample);
        }
  }
  return { samples, roundsDone: settings.rounds };
}

/**
 * Repeats a measurement that others disturbed.
 *
 * @param {Run} run @param {Target} target @param {Mode} mode @param {number} rate @param {number} seed
 */
async function measureQuietly(run, target, mode, rate, seed) {
  const sample = await measure(run, target, mode, rate, seed);
  if (sample.noise <= NOISE_MAX || flags.quick) return sample;
  const again = await measure(run, target, mode, rate, seed);
  return { ...(again.noise < sample.noise ? again : sample), repeated: true };
}

/** @param {Run} run @param {Target} target @param {Mode} mode @param {number} rate @param {number} seed @returns {Promise<Omit<Sample, 'round'>>} */
async function measure(run, target, mode, rate, seed) {
  const { seconds, leadSeconds } = settings;
  const open = Math.ceil(((rate * Math.max(...settings.bounds)) / 1_000) * CONNECTIONS.margin);
  const connections = Math.min(CONNECTIONS.max, Math.max(CONNECTIONS.min, open));
  const arrivals = { rate, seed, leadSeconds, giveUpMs: GIVE_UP_MS };
  const { outcome, noise, busy, cpu, elapsedSeconds } = await load(run, target, { mode, connections, seconds, arrivals });
  if (outcome.open === undefined) throw new Error(`no outcome: ${outcome.firstError}`);
  const { open: opened, errors: faults, firstError, usages: _usages, answered, ...counted } = outcome;
  const sample = {
    ...{ target: target.name, mode, rate, ms: counted.p99, isSustained: faults === 0 && opened.unsent === 0 },
    ...{ ...opened, ...counted, connections, faults, firstError, answered, noise, busy },
    cpuMs: Object.fromEntries(Object.entries(cpu).map(([name, used]) => [name, (used / Math.max(1, answered)) * 1_000])),
    processCores: Object.fromEntries(Object.entries(cpu).map(([name, used]) => [name, used / elapsedSeconds])),
  };
  const beyond = sample.isSustained ? '' : ', not sustained';
  console.error(
    `${mode} ${target.name} at ${rate}/s: p50 ${counted.p50.toFixed(1)}, p99 ${counted.p99.toFixed(1)} ms, ` +
      `sent ${opened.lateP99.toFixed(1)} ms late, ${total(sample.cpuMs).toFixed(2)} CPU ms${beyond}${faultText(outcome)}`,
  );
  return sample;
}

/**
 * Runs a load, and remembers the usage of its replies.
 *
 * @param {Run} run @param {Target} target
 * @param {Omit<Parameters<typeof loadTarget>[2], 'text' | 'countUsage'>} options
 */
async function load({ loader, text, usages }, target, options) {
  const result = await loadTarget(loader, target, { ...options, text, countUsage: true });
  const counts = usages.get(target.name) ?? {};
  for (const [usage, count] of Object.entries(result.outcome.usages ?? {})) counts[usage] = (counts[usage] ?? 0) + count;
  return result;
}

/** @param {import('../load-worker.mjs').Outcome} outcome */
function faultText({ errors, firstError }) {
  return errors ? `, ${errors} errors: ${firstError}` : '';
}

/** @param {Run} run @param {Target[]} targets @param {Date} began */
async function audit({ usages }, targets, began) {
  const accounts = targets.flatMap(({ name, ledger }) => (ledger ? [{ name, ledger }] : []));
  const options = { price: readPrice('sim-fast'), toppedUp: picoUsd(TOP_UP_USD), since: began };
  return Promise.all(
    accounts.map(async ({ name, ledger }) => ({
      target: name,
      ...(await auditMoney({ ledger, usages: usages.get(name) ?? {}, ...options })),
    })),
  );
}

/** Curves of the benchmark of growth, as a program of its own. Returns the name of its files. */
async function runCurves() {
  if (curves === '') return undefined;
  const program = fileURLToPath(new URL('../growth/run.mjs', import.meta.url));
  const name = `${out}-growth`;
  const child = spawn(process.execPath, [program, '--curves', curves, '--rounds', '3', '--seconds', '3', '--out', name], {
    stdio: 'inherit',
  });
  stops.push(() => stopChild(child));
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`the curves ended with ${code}`);
  return name;
}

async function stopAll() {
  stopping = true;
  for (const stop of stops.splice(0).reverse()) await stop().catch((/** @type {unknown} */ error) => console.error(String(error)));
}

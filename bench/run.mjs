/**
 * Starts what it measures, loads each target in turn in short rounds, and prints a table of medians. See README.md for the method.
 *
 *   node bench/run.mjs [--quick] [--rounds N] [--seconds S] [--warm-up S] [--connections 1,32,128] [--modes plain,streamed]
 *                      [--targets direct,minimal,portkey,split,all] [--replicas 1,2,4] [--traces off,0.1,0.1-down]
 *                      [--budgets none,all,session,child] [--before DIRECTORY] [--before-layout all] [--out NAME] [--profile DIRECTORY]
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ensureBuilt } from '../scripts/local/build.ts';
import { stopChild } from './child-process.mjs';
import { residentMb } from './cpu-time.mjs';
import { expectedText, loadTarget, startLoader, TOKENS } from './load.mjs';
import { chartAdded, chartCpu, chartRequests } from './plots/charts.mjs';
import { describeMachine, middle, renderCpu, renderMemory, renderNoise, renderTable, total } from './report.mjs';
import { startMinimalProxy, startPortkey, startUpstream } from './targets.mjs';
import { startBefore, startTollgate } from './tollgate.mjs';

/** @typedef {import('./targets.mjs').Target} Target @typedef {import('./report.mjs').Series} Series */

const { values: flags } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    'warm-up': { type: 'string' },
    connections: { type: 'string', default: '1,32,128' },
    modes: { type: 'string', default: 'plain,streamed' },
    targets: { type: 'string', default: 'direct,minimal,portkey,split,all' },
    replicas: { type: 'string', default: '1' },
    traces: { type: 'string', default: 'off' },
    budgets: { type: 'string', default: 'none' },
    before: { type: 'string' },
    'before-layout': { type: 'string' },
    out: { type: 'string' },
    profile: { type: 'string' },
  },
});
const rounds = Number(flags.rounds ?? (flags.quick ? 1 : 3));
const seconds = Number(flags.seconds ?? (flags.quick ? 1.5 : 3.5));
const warmUpSeconds = Number(flags['warm-up'] ?? (flags.quick ? 3 : 12));
/** Enough to load every target, and for small and large batches in Tollgate. */
const WARM_UP_CONNECTIONS = 32;
/** A measurement during which others took more of the machine is repeated, at most so often; the quietest counts. */
const NOISE_MAX = 0.1;
const REPEATS_MAX = flags.quick ? 0 : 2;
const wanted = flags.targets.split(',');
/** @type {import('./report.mjs').Scenario[]} */
const scenarios = flags.modes
  .split(',')
  .flatMap((mode) =>
    flags.connections.split(',').map((count) => ({ mode: mode === 'streamed' ? 'streamed' : 'plain', connections: Number(count) })),
  );

/** @type {(() => Promise<void>)[]} */
const stops = [];
let stopping = false;
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.on(signal, () => void stopAll().then(() => process.exit(130)));

try {
  process.exitCode = await main();
} finally {
  await stopAll();
}

/** @returns {Promise<number>} the exit code: 1 when a single request failed */
async function main() {
  await ensureBuilt({ step: (/** @type {string} */ _name, /** @type {() => Promise<unknown>} */ work) => work() });
  const targets = await startTargets();
  const loader = startLoader((code) => {
    if (stopping) return;
    console.error(`the load generator ended with ${code}`);
    void stopAll().then(() => process.exit(1));
  });
  stops.push(() => stopChild(loader));
  const text = await expectedText(/** @type {Target} */ (targets[0]));
  const measured = targets.filter(({ name }) => name !== 'direct' || wanted.includes(name));
  /** @type {Series[]} */
  const series = scenarios.flatMap((scenario) => measured.map((target) => ({ scenario, target: target.name, samples: [] })));

  const idle = new Map(targets.map((target) => [target, residentMb(target.pids)]));
  await warmUp(loader, measured, text);
  await measureAll(loader, measured, series, text);

  const memory = targets.map((target) => ({ target: target.name, idle: idle.get(target) ?? {}, loaded: residentMb(target.pids) }));
  const report = renderReport(series, memory);
  console.log(report);
  await save(series, report);
  return series.some(({ samples }) => middle(samples).errors > 0) ? 1 : 0;
}

/** Starts the upstream first, because the others call it. */
async function startTargets() {
  const upstream = await started(startUpstream());
  const targets = [upstream];
  if (wanted.includes('minimal')) targets.push(await started(startMinimalProxy(upstream)));
  if (wanted.includes('portkey')) targets.push(await started(startPortkey(upstream)));
  const { profile } = flags;
  for (const layout of /** @type {const} */ (['split', 'all']).filter((one) => wanted.includes(one)))
    for (const count of flags.replicas.split(','))
      for (const traces of flags.traces.split(','))
        for (const budgets of flags.budgets.split(',')) {
          const variant = {
            layout,
            replicas: Number(count),
            traces,
            budgets: /** @type {any} */ (budgets),
            ...(profile && { profileDir: join(profile, layout) }),
          };
          targets.push(await started(startTollgate(upstream, variant)));
        }
  if (flags.before) {
    const layout = flags['before-layout'] === 'all' ? 'all' : undefined;
    targets.push(await started(startBefore(flags.before, upstream, layout)));
  }
  return targets;
}

/** @param {Promise<Target>} starting */
async function started(starting) {
  const target = await starting;
  stops.push(target.stop);
  return target;
}

/**
 * Loads every target for the same time before measuring, until V8 has compiled its hot code. The targets take turns as in a round: an
 * idle process loses compiled code within seconds, and all must lose as much.
 *
 * @param {import('node:child_process').ChildProcess} loader @param {Target[]} targets @param {string} text
 */
async function warmUp(loader, targets, text) {
  const turns = Math.ceil(warmUpSeconds / seconds);
  for (const mode of new Set(scenarios.map((scenario) => scenario.mode)))
    for (let turn = 0; turn < turns; turn++)
      for (const target of targets) {
        const scenario = { mode, connections: WARM_UP_CONNECTIONS };
        announce('warm-up', scenario, target, await measure(loader, target, scenario, text, warmUpSeconds / turns));
      }
}

/**
 * Every round runs all loads, and every load all targets, each time starting with another one, so that noise of the machine is spread
 * evenly.
 *
 * @param {import('node:child_process').ChildProcess} loader @param {Target[]} targets @param {Series[]} series @param {string} text
 */
async function measureAll(loader, targets, series, text) {
  for (let round = 0; round < rounds; round++)
    for (const scenario of scenarios)
      for (let turn = 0; turn < targets.length; turn++) {
        const target = /** @type {Target} */ (targets[(turn + round) % targets.length]);
        const sample = await measureQuietly(loader, target, scenario, text, `round ${round + 1}`);
        series.find((one) => one.scenario === scenario && one.target === target.name)?.samples.push(sample);
      }
}

/**
 * Repeats a measurement that others disturbed.
 *
 * @param {import('node:child_process').ChildProcess} loader @param {Target} target @param {import('./report.mjs').Scenario} scenario
 * @param {string} text @param {string} when @returns {Promise<import('./report.mjs').Sample>}
 */
async function measureQuietly(loader, target, scenario, text, when) {
  /** @type {import('./report.mjs').Sample[]} */
  const samples = [];
  do {
    const sample = await measure(loader, target, scenario, text, seconds);
    announce(when, scenario, target, sample);
    samples.push(sample);
    if (sample.noise <= NOISE_MAX) break;
  } while (samples.length <= REPEATS_MAX);
  const [quietest] = samples.sort((one, other) => one.noise - other.noise);
  return { .../** @type {import('./report.mjs').Sample} */ (quietest), repeats: samples.length - 1 };
}

/**
 * @param {string} when @param {import('./report.mjs').Scenario} scenario @param {Target} target
 * @param {import('./report.mjs').Sample} sample
 */
function announce(when, { mode, connections }, target, { requestsPerSecond, cpu, errors, firstError }) {
  const faults = errors ? `, ${errors} errors: ${firstError}` : '';
  const used = `${total(cpu).toFixed(3)} CPU-s / 1,000`;
  console.error(`${when} ${mode} ${connections} ${target.name}: ${Math.round(requestsPerSecond)}/s, ${used}${faults}`);
}

/**
 * @param {import('node:child_process').ChildProcess} loader @param {Target} target @param {import('./report.mjs').Scenario} scenario
 * @param {string} text @param {number} duration @returns {Promise<import('./report.mjs').Sample>}
 */
async function measure(loader, target, { mode, connections }, text, duration) {
  const { outcome, noise, cpu } = await loadTarget(loader, target, { mode, connections, text, seconds: duration });
  const perThousand = (/** @type {number} */ used) => (outcome.requests > 0 ? (used / outcome.requests) * 1_000 : 0);
  return {
    requestsPerSecond: outcome.requests / outcome.seconds,
    p50: outcome.p50,
    p99: outcome.p99,
    requests: outcome.requests,
    errors: outcome.errors,
    firstError: outcome.firstError,
    noise,
    cpu: Object.fromEntries(Object.entries(cpu).map(([name, used]) => [name, perThousand(used)])),
  };
}

/** @param {Series[]} series @param {Parameters<typeof renderMemory>[0]} memory */
function renderReport(series, memory) {
  const names = memory.map(({ target }) => target);
  const byProcess = names.flatMap((name) => {
    const cpu = renderCpu(series, name);
    return cpu ? [`CPU-seconds of ${name} per 1,000 requests, by process:`, cpu] : [];
  });
  return [
    `# ${new Date().toISOString().slice(0, 10)}: chat completions of ${TOKENS} tokens`,
    `Machine: ${describeMachine()}. Load, upstream and targets share it.`,
    `Method: \`bench/README.md\`. Targets: ${names.join(', ')}. ${warmUpSeconds} s of warm-up for each mode and target, then ${rounds} round${rounds === 1 ? '' : 's'} of ${seconds} s for each load and target, in turn; medians. ` +
      'CPU-seconds are those of the target’s own processes, without upstream and load generator (for "direct": the upstream).',
    renderNoise(series),
    renderTable(series),
    ...byProcess,
    'Resident memory, in MB:',
    renderMemory(memory),
    '',
  ].join('\n\n');
}

/** @param {Series[]} series @param {string} report */
async function save(series, report) {
  const name = `${new Date().toISOString().slice(0, 10)}-${flags.out ?? (flags.quick ? 'quick' : 'chat')}`;
  const directory = new URL('results/', import.meta.url);
  await mkdir(directory, { recursive: true });
  const write = (/** @type {string} */ file, /** @type {string} */ text) => writeFile(new URL(file, directory), `${text.trimEnd()}\n`);
  await write(`${name}-requests.svg`, await chartRequests(series));
  await write(`${name}-cpu.svg`, await chartCpu(series));
  const added = await chartAdded(series);
  if (added) await write(`${name}-added.svg`, added);
  const charts = [
    `![Requests a second by load and target](${name}-requests.svg)`,
    `![CPU time a request by load and process](${name}-cpu.svg)`,
    ...(added ? [`![What each target adds to a request](${name}-added.svg)`] : []),
  ].join('\n\n');
  await write(`${name}.md`, `${report}\n${charts}`);
  console.error(`written to bench/results/${name}.md`);
}

async function stopAll() {
  if (stopping) return;
  stopping = true;
  for (const stop of stops.reverse()) await stop().catch((error) => console.error(String(error)));
}

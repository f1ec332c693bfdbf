/**
 * Benchmark of streaming: tokens a second with 32 streams at full speed, and the delay of the tokens of 500 and 1,000 paced streams
 * against the upstream itself. See ../README.md, "Streams".
 *
 *   node bench/streaming/run.mjs [--rounds N] [--seconds S] [--paced 500,1000] [--targets direct,minimal,portkey,split,all]
 *                                [--before DIRECTORY] [--out NAME]
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { ensureBuilt } from '../../scripts/local/build.ts';
import { stopChild } from '../child-process.mjs';
import { cpuSeconds } from '../cpu-time.mjs';
import { describeMachine, markdown, median, writeResult } from '../report.mjs';
import { startMinimalProxy, startPortkey, startUpstream } from '../targets.mjs';
import { startBefore, startTollgate } from '../tollgate.mjs';

/**
 * @typedef {import('../targets.mjs').Target} Target
 * @typedef {import('./load-worker.mjs').Outcome & { cpu: Record<string, number>, memoryMb: number }} Sample
 * @typedef {{ streams: number, target: Target, samples: Sample[] }} Paced
 */

const FULL = { streams: 32, tokens: 512 };
/** As in ../run.mjs, until V8 has compiled the hot code. */
const WARM_UP_SECONDS = 12;
const RATE = 20;
/** Streams start over `seconds`, so that opening streams and forwarding tokens are measured separately. */
const PACED = { tokens: 300, seconds: 5 };
const PACED_WARM_UP = { tokens: 200, seconds: 5 };

const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '4' },
    paced: { type: 'string', default: '500,1000' },
    targets: { type: 'string', default: 'direct,minimal,portkey,split,all' },
    before: { type: 'string' },
    out: { type: 'string', default: 'streaming' },
  },
});
const rounds = Number(flags.rounds);
const seconds = Number(flags.seconds);
const wanted = flags.targets.split(',');

/** Memory of each target's processes before their first request. @type {Map<Target, number>} */
const idleMb = new Map();
/** @type {(() => Promise<void>)[]} */
const stops = [];
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.on(signal, () => void stopAll().then(() => process.exit(130)));
try {
  await main();
} finally {
  await stopAll();
}

async function main() {
  await ensureBuilt({ step: (/** @type {string} */ _name, /** @type {() => Promise<unknown>} */ work) => work() });
  const upstream = await started(startUpstream());
  const targets = [upstream];
  if (wanted.includes('minimal')) targets.push(await started(startMinimalProxy(upstream)));
  if (wanted.includes('portkey')) targets.push(await started(startPortkey(upstream)));
  for (const layout of /** @type {const} */ (['split', 'all']).filter((one) => wanted.includes(one)))
    targets.push(await started(startTollgate(upstream, { layout })));
  if (flags.before) targets.push(await started(startBefore(flags.before, upstream)));

  for (const target of targets) idleMb.set(target, memoryMb(target));
  /** @type {Map<string, Sample[]>} */
  const full = new Map(targets.map(({ name }) => [name, []]));
  for (const target of targets) await measure(target, { kind: 'full', ...FULL, rate: 0, seconds: WARM_UP_SECONDS });
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < targets.length; turn++) {
      const target = /** @type {Target} */ (targets[(turn + round) % targets.length]);
      full.get(target.name)?.push(await measure(target, { kind: 'full', ...FULL, rate: 0, seconds }));
    }
  }

  // Portkey waits 25 ms after the first event of every stream, which would not measure its work.
  const pacedTargets = targets.filter(({ name }) => name !== 'Portkey');
  /** @type {Paced[]} */
  const paced = [];
  for (const streams of flags.paced.split(',').filter(Boolean).map(Number)) {
    for (const target of pacedTargets) await measure(target, { kind: 'paced', streams, rate: RATE, ...PACED_WARM_UP });
    const load = pacedTargets.map((target) => ({ streams, target, samples: /** @type {Sample[]} */ ([]) }));
    for (let round = 0; round < rounds; round++) {
      for (const { target, samples } of load) samples.push(await measure(target, { kind: 'paced', streams, rate: RATE, ...PACED }));
    }
    paced.push(...load);
  }
  await report(full, paced);
  const all = [...full.values()].flat().concat(paced.flatMap(({ samples }) => samples));
  process.exitCode = all.some(({ errors }) => errors > 0) ? 1 : 0;
}

/** @param {Promise<Target>} starting */
async function started(starting) {
  const target = await starting;
  stops.push(target.stop);
  return target;
}

/** @param {Target} target @param {Omit<import('./load-worker.mjs').Job, 'origin' | 'headers'>} job @returns {Promise<Sample>} */
async function measure(target, job) {
  const worker = fork(fileURLToPath(new URL('load-worker.mjs', import.meta.url)), {
    env: { ...process.env, NODE_OPTIONS: '', NODE_ENV: 'production' },
    serialization: 'advanced',
  });
  const before = cpuSeconds(target.pids);
  worker.send({ ...job, origin: target.origin, headers: target.headers });
  const halfway = job.kind === 'paced' ? (job.tokens / job.rate) * 700 : job.seconds * 700;
  const [[outcome], busyMb] = await Promise.all([once(worker, 'message'), delay(halfway).then(() => memoryMb(target))]);
  const after = Object.entries(cpuSeconds(target.pids));
  const cpu = Object.fromEntries(
    after.map(([name, seconds]) => [name, ((seconds - (before[name] ?? 0)) / Math.max(1, outcome.tokens)) * 1_000_000]),
  );
  await stopChild(worker);
  console.error(
    `${job.kind} ${job.streams} ${target.name}: ${Math.round(outcome.tokensPerSecond)} tokens/s${outcome.errors ? `, ${outcome.errors} errors: ${outcome.firstError}` : ''}`,
  );
  return { ...outcome, cpu, memoryMb: busyMb - (idleMb.get(target) ?? 0) };
}

/** Resident memory of the target's processes; for Tollgate, those that a stream passes through. @param {Target} target */
function memoryMb({ pids }) {
  const names = Object.keys(pids).filter((name) => name !== 'postgres' && name !== 'nats');
  return names.reduce(
    (sum, name) => sum + Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pids[name]}/status`, 'utf8'))?.[1] ?? 0) / 1_024,
    0,
  );
}

/** @param {Map<string, Sample[]>} full @param {Paced[]} paced */
async function report(full, paced) {
  const rate = (/** @type {string} */ name) => median((full.get(name) ?? []).map((sample) => sample.tokensPerSecond));
  const against = (/** @type {string} */ name, /** @type {string} */ other) =>
    full.has(other) ? (rate(name) / rate(other)).toFixed(2) : '–';
  const fullRows = [...full].map(([name, samples]) => [
    name,
    Math.round(rate(name)).toLocaleString('en'),
    against(name, 'direct'),
    against(name, 'minimal proxy'),
    against(name, 'Portkey'),
    percentile(
      samples.flatMap(({ firstMs }) => firstMs),
      0.5,
    ).toFixed(1),
    median(samples.map(({ cpu }) => total(cpu))).toFixed(1),
    String(samples.reduce((sum, { errors }) => sum + errors, 0)),
  ]);
  const text = [
    `# ${new Date().toISOString().slice(0, 10)}: streams`,
    `Machine: ${describeMachine()}. Load, upstream and targets share it.`,
    `Method: \`bench/README.md\`, "Streams". Full speed: ${FULL.streams} streams of ${FULL.tokens} tokens, ${rounds} rounds of ${seconds} s, medians.`,
    markdown(
      ['32 streams at full speed', 'tokens/s', '× direct', '× minimal', '× Portkey', 'first token p50 ms', 'CPU µs a token', 'errors'],
      fullRows,
    ),
    ...pacedTable(paced),
    ...byProcess(full, paced),
    '',
  ].join('\n\n');
  await writeResult(text, flags.out);
}

/** Delays of paced streams. @param {Paced[]} paced */
function pacedTable(paced) {
  if (paced.length === 0) return [];
  const rows = paced.map(({ streams, target, samples }) => {
    const direct = paced.find((other) => other.streams === streams && other.target.name === 'direct')?.samples ?? samples;
    const figure = (/** @type {Sample[]} */ of, /** @type {'lateMs' | 'firstMs'} */ what, /** @type {number} */ share) =>
      median(of.map((sample) => percentile(sample[what], share)));
    const added = (/** @type {'lateMs' | 'firstMs'} */ what, /** @type {number} */ share) =>
      (figure(samples, what, share) - figure(direct, what, share)).toFixed(1);
    const addedP99 = samples.map((sample, round) => percentile(sample.lateMs, 0.99) - percentile(direct[round]?.lateMs ?? [], 0.99));
    return [
      String(streams),
      target.name,
      Math.round(median(samples.map(({ tokensPerSecond }) => tokensPerSecond))).toLocaleString('en'),
      ...[0.5, 0.99, 0.999].map((share) => figure(samples, 'lateMs', share).toFixed(1)),
      ...[0.5, 0.99, 0.999].map((share) => added('lateMs', share)),
      `${Math.min(...addedP99).toFixed(1)}–${Math.max(...addedP99).toFixed(1)}`,
      added('firstMs', 0.5),
      added('firstMs', 0.99),
      median(samples.map(({ cpu }) => total(cpu))).toFixed(1),
      ((median(samples.map(({ memoryMb }) => memoryMb)) / streams) * 1_024).toFixed(0),
      String(samples.reduce((sum, { errors }) => sum + errors, 0)),
    ];
  });
  return [
    `Paced: each stream ${RATE} tokens a second for ${PACED.tokens / RATE} s, ${rounds} rounds, medians. "Late" is against the upstream's pace; "added" is the difference to direct.`,
    markdown(
      [
        'streams',
        'target',
        'tokens/s',
        ...['late p50 ms', 'p99', 'p99.9', 'added p50 ms', 'p99', 'p99.9', 'p99 of the rounds', 'first token added p50 ms', 'p99'],
        'CPU µs a token',
        'memory KiB a stream',
        'errors',
      ],
      rows,
    ),
  ];
}

/** CPU time by process of targets that have several. @param {Map<string, Sample[]>} full @param {Paced[]} paced */
function byProcess(full, paced) {
  const loads = [
    ...[...full].map(([name, samples]) => ({ name, load: `${FULL.streams} at full speed`, samples, digits: 2 })),
    ...paced.map(({ streams, target, samples }) => ({ name: target.name, load: `${streams} paced`, samples, digits: 1 })),
  ].filter(({ samples }) => Object.keys(samples[0]?.cpu ?? {}).length > 1);
  const processes = [...new Set(loads.flatMap(({ samples }) => Object.keys(samples[0]?.cpu ?? {})))];
  if (processes.length === 0) return [];
  const rows = loads.map(({ name, load, samples, digits }) => [
    load,
    name,
    ...processes.map((process) => median(samples.map(({ cpu }) => cpu[process] ?? 0)).toFixed(digits)),
  ]);
  return ['CPU µs a token, by process:', markdown(['streams', 'target', ...processes], rows)];
}

/** @param {number[]} values @param {number} share */
function percentile(values, share) {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/** @param {Record<string, number>} parts */
function total(parts) {
  return Object.values(parts).reduce((sum, part) => sum + part, 0);
}

async function stopAll() {
  for (const stop of stops.splice(0).reverse()) await stop().catch((/** @type {unknown} */ error) => console.error(String(error)));
}

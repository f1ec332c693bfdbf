import { closeSync, fdatasyncSync, mkdirSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import os from 'node:os';
import { fileURLToPath } from 'node:url';

/**
 * @typedef {{ mode: 'plain' | 'streamed', connections: number }} Scenario
 * @typedef {{ requestsPerSecond: number, p50: number, p99: number, requests: number, errors: number, firstError?: string,
 *   noise: number, repeats?: number, cpu: Record<string, number> }} Sample
 *   `noise`: share of the machine that others took; `repeats`: noisier measurements that were dropped for this one; `cpu`: process →
 *   CPU-seconds per 1,000 requests
 * @typedef {{ scenario: Scenario, target: string, samples: Sample[] }} Series
 */

/** Medians of all rounds, number by number. @param {Sample[]} samples @returns {Sample} */
export function middle(samples) {
  const of = (/** @type {(sample: Sample) => number} */ pick) => median(samples.map(pick));
  const names = Object.keys(samples[0]?.cpu ?? {});
  return {
    requestsPerSecond: of((sample) => sample.requestsPerSecond),
    p50: of((sample) => sample.p50),
    p99: of((sample) => sample.p99),
    requests: samples.reduce((sum, sample) => sum + sample.requests, 0),
    errors: samples.reduce((sum, sample) => sum + sample.errors, 0),
    noise: of((sample) => sample.noise),
    cpu: Object.fromEntries(names.map((name) => [name, of((sample) => sample.cpu[name] ?? 0)])),
  };
}

/** @param {Series[]} series */
export function renderTable(series) {
  const rows = series.map(({ scenario, target, samples }) => {
    const own = middle(samples);
    const of = (/** @type {string} */ name) => {
      const other = series.find((one) => one.scenario === scenario && one.target === name);
      return other ? (own.requestsPerSecond / middle(other.samples).requestsPerSecond).toFixed(2) : '–';
    };
    const range = samples.map((sample) => sample.requestsPerSecond);
    return [
      `${scenario.mode}, ${scenario.connections}`,
      target,
      Math.round(own.requestsPerSecond).toLocaleString('en'),
      `${Math.round(Math.min(...range)).toLocaleString('en')}–${Math.round(Math.max(...range)).toLocaleString('en')}`,
      own.p50.toFixed(2),
      own.p99.toFixed(2),
      of('direct'),
      of('Portkey'),
      total(own.cpu).toFixed(3),
      String(own.errors),
    ];
  });
  const heads = [
    'load, connections',
    'target',
    'requests/s',
    'range',
    'p50 ms',
    'p99 ms',
    '× direct',
    '× Portkey',
    'CPU-s / 1,000',
    'errors',
  ];
  return markdown(heads, rows);
}

/** CPU time of a target by process. @param {Series[]} series @param {string} target */
export function renderCpu(series, target) {
  const own = series.filter((one) => one.target === target);
  const names = Object.keys(own[0]?.samples[0]?.cpu ?? {});
  if (names.length < 2) return '';
  const rows = own.map(({ scenario, samples }) => {
    const { cpu } = middle(samples);
    return [`${scenario.mode}, ${scenario.connections}`, ...names.map((name) => (cpu[name] ?? 0).toFixed(3)), total(cpu).toFixed(3)];
  });
  return markdown(['load, connections', ...names, 'all'], rows);
}

/**
 * Resident memory of targets of several processes, in MB: that of the services when idle and after the load, then each process after it.
 *
 * @param {{ target: string, idle: Record<string, number>, loaded: Record<string, number> }[]} targets
 */
export function renderMemory(targets) {
  const several = targets.filter(({ loaded }) => Object.keys(loaded).length > 1);
  const names = [...new Set(several.flatMap(({ loaded }) => Object.keys(loaded)))];
  const servers = new Set(['postgres', 'nats']);
  const ofServices = (/** @type {Record<string, number>} */ mb) =>
    total(Object.fromEntries(Object.entries(mb).filter(([name]) => !servers.has(name)))).toFixed(0);
  return markdown(
    ['target', 'services idle', 'after the load', ...names],
    several.map(({ target, idle, loaded }) => [
      target,
      ofServices(idle),
      ofServices(loaded),
      ...names.map((name) => loaded[name]?.toFixed(0) ?? '–'),
    ]),
  );
}

/** Share of the machine that other processes used. @param {Series[]} series */
export function renderNoise(series) {
  const all = series.flatMap(({ samples }) => samples.map(({ noise }) => noise));
  const percent = (/** @type {number} */ share) => `${(100 * share).toFixed(0)} %`;
  const repeats = series.flatMap(({ samples }) => samples.map((sample) => sample.repeats ?? 0)).reduce((sum, count) => sum + count, 0);
  return (
    `Other programs and the host of a virtual machine took ${percent(median(all))} of the machine (median; at most ${percent(Math.max(...all))} during one load). ` +
    `${repeats} measurements with more than 10 % were repeated.`
  );
}

/** Describes the machine, with the time of `fdatasync`: every commit waits for it, and machines differ by a factor of ten. */
export function describeMachine() {
  const cpus = os.cpus();
  const memory = Math.round(os.totalmem() / 1024 ** 3);
  const parts = [
    cpuModel() ?? cpus[0]?.model ?? 'unknown CPU',
    `${cpus.length} cores`,
    `${memory} GB memory`,
    `${os.type()} ${os.release()}`,
    `Node ${process.version}`,
    `fdatasync ${fdatasyncMs().toFixed(1)} ms`,
  ];
  return parts.join(', ');
}

/** Milliseconds of writing a page of 8 kB to the disk of the databases: the median of 51. */
function fdatasyncMs() {
  const directory = fileURLToPath(new URL('../.local/bench', import.meta.url));
  mkdirSync(directory, { recursive: true });
  const path = `${directory}/fdatasync`;
  const file = openSync(path, 'w');
  const page = Buffer.alloc(8192, 1);
  const times = Array.from({ length: 51 }, () => {
    const start = performance.now();
    writeSync(file, page, 0, page.length, 0);
    fdatasyncSync(file);
    return performance.now() - start;
  });
  closeSync(file);
  rmSync(path);
  return median(times);
}

function cpuModel() {
  try {
    return /^model name\s*:\s*(.+)$/m.exec(readFileSync('/proc/cpuinfo', 'utf8'))?.[1];
  } catch {
    return undefined;
  }
}

/** @param {Record<string, number>} parts */
export function total(parts) {
  return Object.values(parts).reduce((sum, part) => sum + part, 0);
}

/** @param {number[]} values */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  const upper = sorted[half] ?? 0;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[half - 1] ?? 0)) / 2;
}

/** @param {string[]} heads @param {string[][]} rows */
export function markdown(heads, rows) {
  const line = (/** @type {string[]} */ cells) => `| ${cells.join(' | ')} |`;
  return [line(heads), line(heads.map((_, index) => (index < 1 ? '---' : '---:'))), ...rows.map(line)].join('\n');
}

/** Prints a result and writes it to `results/<day>-<out>.md`. @param {string} text @param {string} out */
export async function writeResult(text, out) {
  console.log(text);
  const name = `${new Date().toISOString().slice(0, 10)}-${out}.md`;
  await writeFile(new URL(`results/${name}`, import.meta.url), `${text.trimEnd()}\n`);
  console.error(`written to bench/results/${name}`);
}

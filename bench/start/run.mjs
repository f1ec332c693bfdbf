/**
 * Benchmark of the start: the time of a second `npm start`, the memory before and after load, and how many requests a fresh process answers
 * before it is as quick as later. See ../README.md, "The start".
 *
 *   node bench/start/run.mjs [--rounds N] [--seconds S] [--before DIRECTORY] [--out NAME]
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Client } from 'undici';
import { freePort } from '../child-process.mjs';
import { residentMb } from '../cpu-time.mjs';
import { describeMachine, markdown, median, writeResult } from '../report.mjs';
import { startUpstream } from '../targets.mjs';
import { startBefore, startTollgate } from '../tollgate.mjs';

const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '20' },
    before: { type: 'string' },
    out: { type: 'string', default: 'start' },
  },
});
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const IDLE_MS = 10_000;
const CONNECTIONS = 32;
/** Requests whose speed is compared with the steady one. */
const WINDOW = 200;
const STEADY_SHARE = 0.9;
const BODY = JSON.stringify({ model: 'sim-fast', messages: [{ role: 'user', content: 'Why is the sky blue? [[sim tokens=64]]' }] });

/** @typedef {{ name: string, root: string, args: string[], start(upstream: import('../targets.mjs').Target): Promise<import('../targets.mjs').Target> }} Variant */
/** @type {Variant[]} */
const variants = [
  { name: 'all', root: ROOT, args: [], start: (upstream) => startTollgate(upstream, { layout: 'all' }) },
  { name: 'split', root: ROOT, args: ['--', '--split'], start: (upstream) => startTollgate(upstream, { layout: 'split' }) },
];
if (flags.before) {
  const root = resolve(flags.before);
  variants.push({ name: 'before', root, args: [], start: (upstream) => startBefore(root, upstream) });
}

/** @type {Map<string, { readyMs: number[], idleMb: number[], coldRequests: number[], loadedMb: number[] }>} */
const results = new Map(variants.map(({ name }) => [name, { readyMs: [], idleMb: [], coldRequests: [], loadedMb: [] }]));
const findResult = (/** @type {Variant} */ { name }) => /** @type {NonNullable<ReturnType<typeof results.get>>} */ (results.get(name));

/** Ends what runs. @type {Set<() => Promise<unknown>>} */
const stops = new Set();
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM']))
  process.once(signal, () => void Promise.allSettled([...stops].map((stop) => stop())).then(() => process.exit(130)));

for (const variant of variants) await npmStart(variant); // creates data, and builds
for (let round = 0; round < Number(flags.rounds); round++) {
  for (const variant of variants) {
    const { readyMs, idleMb } = await npmStart(variant);
    findResult(variant).readyMs.push(readyMs);
    findResult(variant).idleMb.push(idleMb);
    console.error(`round ${round + 1} ${variant.name}: ready in ${Math.round(readyMs)} ms, ${Math.round(idleMb)} MB`);
  }
}
for (const variant of variants) rmSync(dataFolder(variant), { recursive: true, force: true });
const upstream = await startUpstream();
stops.add(upstream.stop);
for (let round = 0; round < Number(flags.rounds); round++) {
  for (const variant of variants) {
    const target = await variant.start(upstream);
    stops.add(target.stop);
    try {
      findResult(variant).coldRequests.push(await countColdRequests(target));
      findResult(variant).loadedMb.push(sumServices(residentMb(target.pids)));
      console.error(`round ${round + 1} ${variant.name}: ${findResult(variant).coldRequests.at(-1)} requests until steady`);
    } finally {
      stops.delete(target.stop);
      await target.stop();
    }
  }
}
await upstream.stop();
await report();

/** Runs `npm start` until it has been ready for a while. @param {Variant} variant */
async function npmStart(variant) {
  const dataDir = dataFolder(variant);
  const [port, panelPort] = [await freePort(), await freePort()];
  const env = { ...process.env, TOLLGATE_DATA: dataDir, PORT: String(port), PANEL_PORT: String(panelPort), NODE_OPTIONS: '' };
  const started = performance.now();
  // A process group of its own: npm runs the launcher in a shell.
  const child = spawn('npm', ['start', ...variant.args], { cwd: variant.root, env, detached: true, stdio: ['ignore', 'pipe', 'inherit'] });
  const stop = async () => {
    if (child.exitCode !== null) return;
    const exited = once(child, 'exit');
    process.kill(-Number(child.pid), 'SIGTERM');
    await exited;
  };
  stops.add(stop);
  try {
    let output = '';
    for await (const text of child.stdout) {
      output += text;
      if (output.includes('console.log(')) break; // the last of what it prints
    }
    const readyMs = performance.now() - started;
    await delay(IDLE_MS);
    const { children } = JSON.parse(readFileSync(join(dataDir, 'pids.json'), 'utf8'));
    const pids = Object.entries(children).map(([name, { pid }]) => [name, pid]);
    return { readyMs, idleMb: sumServices(residentMb(Object.fromEntries(pids))) };
  } finally {
    stops.delete(stop);
    await stop();
  }
}

/** A folder for the data of a variant, in its checkout. @param {Variant} variant */
function dataFolder({ name, root }) {
  return resolve(root, `.local/bench-start-${name}`);
}

/** Sum of the product's own processes: neither the servers nor the simulator. @param {Record<string, number>} megabytes */
function sumServices({ postgres: _postgres, nats: _nats, 'upstream-sim': _simulator, ...services }) {
  return Object.values(services).reduce((sum, one) => sum + one, 0);
}

/**
 * Loads a fresh target. Returns the number of requests before the first `WINDOW` of them that is within a tenth of the median speed of the
 * second half.
 *
 * @param {import('../targets.mjs').Target} target
 */
async function countColdRequests(target) {
  /** @type {number[]} */
  const ends = [];
  const deadline = performance.now() + Number(flags.seconds) * 1_000;
  const loop = async () => {
    const client = new Client(target.origin);
    while (performance.now() < deadline) {
      const { statusCode, body } = await client.request({
        path: '/v1/chat/completions',
        method: 'POST',
        headers: target.headers,
        body: BODY,
      });
      const text = await body.text();
      if (statusCode !== 200) throw new Error(`${target.name}: status ${statusCode}: ${text.slice(0, 300)}`);
      ends.push(performance.now());
    }
    await client.close();
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, loop));
  const speedAfter = (/** @type {number} */ from) => WINDOW / (Number(ends[from + WINDOW]) - Number(ends[from]));
  const starts = Array.from({ length: Math.floor((ends.length - 1) / WINDOW) }, (_, index) => index * WINDOW);
  const steady = median(starts.slice(starts.length / 2).map(speedAfter));
  return starts.find((from) => speedAfter(from) >= STEADY_SHARE * steady) ?? ends.length;
}

async function report() {
  const last = variants.at(-1);
  const reference = flags.before && last ? findResult(last) : undefined;
  const figures = /** @type {const} */ (['readyMs', 'idleMb', 'coldRequests', 'loadedMb']);
  const rows = variants.map((variant) => [
    variant.name,
    ...figures.flatMap((figure) => {
      const own = median(findResult(variant)[figure]);
      return [Math.round(own).toLocaleString('en'), ...(reference ? [(own / median(reference[figure])).toFixed(2)] : [])];
    }),
  ]);
  const heads = ['second start, ms', 'idle, MB', 'requests until steady', 'after load, MB'];
  const text = [
    `# ${new Date().toISOString().slice(0, 10)}: the start`,
    `Machine: ${describeMachine()}. Load, upstream, Postgres and NATS share it.`,
    `Method: \`bench/README.md\`, "The start". ${flags.rounds} rounds, medians.`,
    markdown(['layout', ...heads.flatMap((head) => (reference ? [head, '÷ before'] : [head]))], rows),
    '',
  ].join('\n\n');
  await writeResult(text, flags.out);
}

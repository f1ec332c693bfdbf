/** One load on one target: runs it in the load generator, and measures what it takes of the processors meanwhile. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { cpuSeconds, machineSeconds } from './cpu-time.mjs';
import { total } from './report.mjs';

/** @typedef {import('./targets.mjs').Target} Target @typedef {import('./load-worker.mjs').Job} Job */

/** Tokens of every reply. */
export const TOKENS = 64;
const MESSAGES = [
  { role: 'system', content: 'You are a helpful assistant. Answer in one paragraph and do not repeat the question.' },
  { role: 'user', content: `Why is the sky blue, and why are sunsets red? [[sim tokens=${TOKENS}]]` },
];

/** Starts the process of the load generator. @param {(code: number | string | null) => void} onEnd */
export function startLoader(onEnd) {
  const loader = fork(fileURLToPath(new URL('load-worker.mjs', import.meta.url)), {
    env: { ...process.env, NODE_OPTIONS: '', NODE_ENV: 'production' },
  });
  loader.once('exit', (code, signal) => onEnd(code ?? signal));
  return loader;
}

/**
 * Loads a target. `noise` is the share of the machine that others took, `busy` the share that all took; `cpu` has the CPU-seconds of each
 * process of the target.
 *
 * @param {import('node:child_process').ChildProcess} loader @param {Target} target
 * @param {{ mode: 'plain' | 'streamed', text: string } & Pick<Job, 'connections' | 'seconds' | 'arrivals' | 'countUsage'>} load
 * @returns {Promise<{ outcome: import('./load-worker.mjs').Outcome, noise: number, busy: number, cpu: Record<string, number>,
 *   elapsedSeconds: number }>}
 */
export async function loadTarget(loader, target, { mode, connections, ...load }) {
  const stream = mode === 'streamed';
  const origins = target.origins ?? [target.origin];
  loader.send({
    origins,
    path: '/v1/chat/completions',
    headers: target.headers,
    body: requestBody(stream, target.user),
    stream,
    sessions: target.sessions,
    connections: connections * origins.length,
    ...load,
  });
  await once(loader, 'message'); // connected
  const [began, before, machineBefore] = [performance.now(), cpuSeconds(target.pids), machineSeconds()];
  const ownBefore = total(cpuSeconds({ harness: process.pid }));
  /** @type {[import('./load-worker.mjs').Outcome]} */
  const [outcome] = /** @type {any} */ (await once(loader, 'message'));
  const [after, machineAfter] = [cpuSeconds(target.pids), machineSeconds()];
  const used = machineAfter.used - machineBefore.used;
  const others = used - (total(cpuSeconds({ harness: process.pid })) - ownBefore);
  const available = machineAfter.available - machineBefore.available;
  return {
    outcome,
    noise: Math.max(0, others) / available,
    busy: used / available,
    cpu: addUpReplicas(Object.fromEntries(Object.keys(before).map((name) => [name, (after[name] ?? 0) - (before[name] ?? 0)]))),
    elapsedSeconds: (performance.now() - began) / 1_000,
  };
}

/** Adds up `billing`, `billing-2` and so on. @param {Record<string, number>} parts @returns {Record<string, number>} */
function addUpReplicas(parts) {
  const names = Map.groupBy(Object.entries(parts), ([name]) => name.replace(/-\d+$/, ''));
  return Object.fromEntries([...names].map(([name, entries]) => [name, total(Object.fromEntries(entries))]));
}

/** @param {boolean} stream @param {string} [user] */
function requestBody(stream, user) {
  return JSON.stringify({
    model: 'sim-fast',
    messages: MESSAGES,
    max_tokens: 256,
    user,
    ...(stream ? { stream, stream_options: { include_usage: true } } : {}),
  });
}

/** Text that every reply must have. @param {Target} upstream */
export async function expectedText(upstream) {
  const reply = await fetch(`${upstream.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: upstream.headers,
    body: requestBody(false),
  });
  const { choices, usage } = await reply.json();
  if (usage.completion_tokens !== TOKENS) throw new Error(`the upstream sent ${usage.completion_tokens} tokens`);
  return choices[0].message.content;
}

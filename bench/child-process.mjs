import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const STOP_MS = 5_000;

/**
 * Starts a Node program and waits until `url` answers. Its output is dropped, except the last lines of a failed start.
 *
 * @param {string[]} args
 * @param {{ env?: Record<string, string>, url: string }} options
 * @returns {Promise<{ pid: number, stop(): Promise<void> }>}
 */
export async function startNode(args, { env = {}, url }) {
  const child = spawn(process.execPath, args, {
    env: { ...process.env, NODE_OPTIONS: '', NODE_ENV: 'production', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let lastWords = '';
  for (const output of [child.stdout, child.stderr]) {
    output.on('data', (/** @type {Buffer} */ text) => {
      lastWords = (lastWords + text).slice(-2_000);
    });
  }
  const stop = () => stopChild(child);
  try {
    await answers(url, () => child.exitCode === null && child.signalCode === null);
  } catch (error) {
    await stop();
    throw new Error(`${args.join(' ')}: ${error instanceof Error ? error.message : error}\n${lastWords}`);
  }
  if (child.pid === undefined) throw new Error('no pid');
  return { pid: child.pid, stop };
}

/** Polls until an HTTP reply that is not 503 (not ready). @param {string} url @param {() => boolean} alive */
async function answers(url, alive) {
  for (let tries = 0; tries < 300; tries++) {
    if (!alive()) throw new Error('ended at once');
    try {
      const reply = await fetch(url);
      await reply.arrayBuffer();
      if (reply.status !== 503) return;
    } catch {}
    await delay(50);
  }
  throw new Error(`${url} is not ready`);
}

/** @param {import('node:child_process').ChildProcess} child */
export async function stopChild(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
  await exited;
  clearTimeout(timer);
}

/** Returns a free loopback port. @returns {Promise<number>} */
export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

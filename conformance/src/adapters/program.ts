import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** A program that an adapter runs. */
export interface Program {
  stop(): Promise<void>;
  /** Kills it with SIGKILL, starts it again, and resolves when it answers. */
  restart(): Promise<void>;
}

interface Options {
  command: string;
  args: string[];
  env?: Record<string, string>;
  /** Any HTTP reply at this address means that it is ready. */
  url: string;
  readyMs?: number;
}

/** Starts a program, and resolves when it answers. Its output is dropped, except the last lines of a failed start. */
export async function startProgram({ command, args, env = {}, url, readyMs = 60_000 }: Options): Promise<Program> {
  const open = async () => {
    const child = spawn(command, args, {
      env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const exited = Promise.withResolvers<void>();
    let output = '';
    let isOver = false;
    child.once('exit', () => exited.resolve());
    child.once('error', (error) => {
      output += error.message;
      exited.resolve();
    });
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (text: Buffer) => {
        output = (output + text).slice(-2_000);
      });
    void exited.promise.then(() => {
      isOver = true;
    });
    for (const deadline = performance.now() + readyMs; !(await answers(url)); await delay(50)) {
      if (!isOver && performance.now() < deadline) continue;
      child.kill('SIGKILL');
      throw new Error(`${command} did not start:\n${output}`);
    }
    const end = async (signal: NodeJS.Signals): Promise<void> => {
      child.kill(signal);
      await exited.promise;
    };
    return { end };
  };
  let running = await open();
  return {
    stop: () => running.end('SIGKILL'),
    restart: async () => {
      await running.end('SIGKILL');
      running = await open();
    },
  };
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

/** Sends JSON to an administrative API, and returns its reply. */
export async function callApi(
  url: string,
  options: { method?: string; key?: string; body?: object } = {},
): Promise<Record<string, unknown>> {
  const { method = options.body ? 'POST' : 'GET', key, body } = options;
  const reply = await fetch(url, {
    method,
    headers: { 'content-type': 'application/json', ...(key && { authorization: `Bearer ${key}` }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await reply.text();
  if (!reply.ok) throw new Error(`${method} ${url}: ${reply.status} ${text.slice(0, 300)}`);
  return JSON.parse(text) as Record<string, unknown>;
}

/** Pico-dollars of an amount that a product keeps as a floating-point number of dollars. */
export function readDollars(usd: unknown): bigint {
  const [whole = '0', decimals = ''] = Number(usd).toFixed(12).split('.');
  return BigInt(whole) * 1_000_000_000_000n + BigInt(decimals);
}

async function answers(url: string): Promise<boolean> {
  try {
    await (await fetch(url, { signal: AbortSignal.timeout(2_000) })).arrayBuffer();
    return true;
  } catch {
    return false;
  }
}

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePort, startNode } from './child-process.mjs';

const run = promisify(execFile);

/**
 * A server of POST /v1/chat/completions, with the headers it needs and the processes whose CPU time counts. `origins` are those of its
 * replicas, which share the connections; `user` is the end user that requests name, `sessions` the number of sessions that they name in turn.
 * `ledger` is where Tollgate keeps the account of all requests.
 *
 * @typedef {{ name: string, origin: string, origins?: string[], user?: string, sessions?: number,
 *   ledger?: { databaseUrl: string, accountId: string }, headers: Record<string, string>, pids: Record<string, number>, stop(): Promise<void> }} Target
 */

const JSON_HEADERS = { 'content-type': 'application/json' };

/** @param {string} path */
const here = (path) => fileURLToPath(new URL(path, import.meta.url));

/** The simulated upstream without a gateway: the upper bound. @returns {Promise<Target>} */
export async function startUpstream() {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const child = await startNode([here('../dist/apps/upstream-sim/src/main.js')], {
    env: { UPSTREAM_SIM_PORT: String(port), HOST: '127.0.0.1', LOG_LEVEL: 'warn' },
    url: `${origin}/readyz`,
  });
  return {
    name: 'direct',
    origin,
    headers: { ...JSON_HEADERS, authorization: 'Bearer sim' },
    pids: { upstream: child.pid },
    stop: child.stop,
  };
}

/** @param {Target} upstream @returns {Promise<Target>} */
export async function startMinimalProxy(upstream) {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const child = await startNode([here('minimal-proxy/proxy.mjs'), String(port), upstream.origin], { url: `${origin}/readyz` });
  return { name: 'minimal proxy', origin, headers: upstream.headers, pids: { proxy: child.pid }, stop: child.stop };
}

/** Portkey's gateway from its npm package, installed on first use. @param {Target} upstream @returns {Promise<Target>} */
export async function startPortkey(upstream) {
  const program = here('portkey/node_modules/@portkey-ai/gateway/build/start-server.js');
  if (!existsSync(program)) {
    console.error('installing @portkey-ai/gateway …');
    await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: here('portkey') });
  }
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const child = await startNode(['--import', here('portkey/copy-response-headers.mjs'), program, `--port=${port}`, '--headless'], {
    env: { PORT: String(port) },
    url: origin,
  });
  return {
    name: 'Portkey',
    origin,
    headers: { ...upstream.headers, 'x-portkey-provider': 'openai', 'x-portkey-custom-host': `${upstream.origin}/v1` },
    pids: { portkey: child.pid },
    stop: child.stop,
  };
}

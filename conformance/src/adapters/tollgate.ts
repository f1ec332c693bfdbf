import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Adapter, Product, Surroundings } from './adapter.ts';
import { connectAdministration } from './tollgate-administration.ts';
import { makeCatalog } from './tollgate-catalog.ts';

/** Leases so short that the death of all processes that know a request is over within seconds. Circuits close again at once. */
const SETTINGS = { LEASE_MS: '6000', REAPER_INTERVAL_MS: '500', REAPER_GRACE_MS: '1000', ROUTE_COOLDOWN_MS: '1', RETRY_AFTER_MAX_MS: '0' };
const WAITS = { settledMs: 5_000, noticedMs: 3_500, meteredMs: 2_500, recoveredMs: 25_000 };
const START_MS = 300_000;
const READY_MS = 60_000;

/** All services of Tollgate in one process, and each in its own. */
export const tollgateAll = makeAdapter('all', ['tollgate', 'nats', 'postgres']);
export const tollgateSplit = makeAdapter('split', ['gateway', 'inference-proxy', 'billing', 'catalog', 'nats', 'postgres']);

function makeAdapter(layout: 'all' | 'split', processes: readonly string[]): Adapter {
  return {
    name: `tollgate-${layout}`,
    about: `Tollgate, ${layout === 'all' ? 'all services in one process' : 'each service in a process of its own'}, started by its own launcher with Postgres and NATS; administered over NATS`,
    start: (surroundings) => start(layout, processes, surroundings),
  };
}

async function start(layout: 'all' | 'split', processes: readonly string[], surroundings: Surroundings): Promise<Product> {
  const { folder, settings, say } = surroundings;
  const root = resolve(settings.root ?? join(import.meta.dirname, '../../..'));
  const launcher = await launch(root, folder, layout, say);
  try {
    const read = (file: string): unknown => JSON.parse(readFileSync(join(folder, file), 'utf8'));
    const demo = read('demo.json') as Record<string, string>;
    const { natsPasswords } = read('secrets.json') as { natsPasswords: Record<string, string> };
    const gatewayUrl = demo.gatewayUrl ?? '';
    const administration = await connectAdministration({ gatewayUrl, natsUrl: demo.natsUrl ?? '', natsPasswords });
    const prices = new Map(surroundings.models.map((model) => [model, surroundings.prices]));
    const applyCatalog = (): Promise<void> => administration.applyCatalog(JSON.stringify(makeCatalog(surroundings.upstreamOrigin, prices)));
    await applyCatalog();
    await administration.untilOffered(surroundings.models.map(({ id }) => id));
    return {
      ...administration.product,
      processes,
      kill: async (name) => killProcess(folder, name),
      changePrices: async (model, changed) => {
        prices.set(model, changed);
        await administration.untilEstimateChanges(model.id, applyCatalog);
      },
      waits: WAITS,
      stop: async () => {
        await administration.close();
        await launcher.stop();
      },
    };
  } catch (error) {
    await launcher.stop();
    throw error;
  }
}

async function launch(
  root: string,
  folder: string,
  layout: 'all' | 'split',
  say: (line: string) => void,
): Promise<{ stop(): Promise<void> }> {
  const node = join(root, 'node_modules/node/bin/node');
  const child = spawn(node, [join(root, 'scripts/start.ts'), ...(layout === 'split' ? ['--split'] : [])], {
    cwd: root,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...SETTINGS, PORT: '0', PANEL_PORT: '0', TOLLGATE_DATA: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'exit');
  const { promise: ready, resolve: isReady } = Promise.withResolvers<void>();
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-4_000);
      for (const line of text.split('\n').filter((one) => / s\)$|exited/.test(one))) say(`tollgate: ${line}`);
      if (output.includes('Tollgate is ready')) isReady();
    });
  const stop = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
    await exited;
  };
  const failed = exited.then(() => Promise.reject(new Error(`Tollgate did not start:\n${output}`)));
  failed.catch(() => {}); // it ends in any case, later
  const timeout = new AbortController();
  const late = delay(START_MS, undefined, { signal: timeout.signal }).then(
    () => Promise.reject(new Error(`Tollgate was not ready after ${START_MS} ms`)),
    () => {},
  );
  await Promise.race([ready, failed, late]);
  timeout.abort();
  return { stop };
}

/** Kills a process, and waits until the launcher has started another one in its place. */
async function killProcess(folder: string, name: string): Promise<void> {
  const readPid = (): number | undefined => JSON.parse(readFileSync(join(folder, 'pids.json'), 'utf8')).children[name]?.pid;
  const pid = readPid();
  if (pid === undefined) throw new Error(`there is no process ${name}`);
  process.kill(pid, 'SIGKILL');
  const deadline = performance.now() + READY_MS;
  for (let now = readPid(); now === undefined || now === pid; now = readPid()) {
    if (performance.now() > deadline) throw new Error(`${name} did not come back`);
    await delay(50);
  }
}

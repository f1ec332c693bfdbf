import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { leastMs } from '#testing/least-ms.js';
import { longOr } from '#testing/long-run.js';
import type { TestNatsServer } from '#testing/nats-server.js';
import { startNatsWithUsers, TEST_NATS_PASSWORD } from '#testing/nats-with-users.js';
import { createEmptyDatabase } from '#testing/test-database.js';

/** A signal ends every program at any moment of its start, also as the first process of a container. */
const { findDebianTool } = await import('../../scripts/local/debian-tool.ts');
/** The first process of the image. */
const tini = await findDebianTool('tini');
/** Milliseconds from the start of Node to a signal: before, while and after Node installs its handlers. */
const MOMENTS_MS = longOr([40], [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 120, 150, 200, 300, 500]);
const NAMESPACE = ['unshare', '--pid', '--fork', '--kill-child'] as const;
const hasNamespaces = spawnSync(NAMESPACE[0], [...NAMESPACE.slice(1), 'true']).status === 0;
/** Reports on file descriptor 3 when the program handles SIGTERM. */
const TELL = `import { writeSync } from 'node:fs';
  process.on('newListener', (event) => event === 'SIGTERM' && process.nextTick(() => writeSync(3, 'x')))`;

/** Accepts connections and never answers, like a hanging NATS or Postgres. */
let silent: Server;
let sockets: Socket[];
let children: ChildProcess[];
beforeEach(async () => {
  sockets = [];
  children = [];
  silent = createServer((socket) => sockets.push(socket.on('error', () => undefined)));
  await once(silent.listen(0, '127.0.0.1'), 'listening');
});
afterEach(async () => {
  for (const child of children) child.kill('SIGKILL');
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => silent.close(resolve));
});

const SERVICE_ARGS = ['gateway', 'inference-proxy', 'billing', 'catalog', 'panel'].map(
  (name) => [name, [`dist/apps/${name}/src/main.js`], 0] as const,
);
const PROGRAMS = [
  ...SERVICE_ARGS,
  ['the migration', ['scripts/prisma/migrate-deploy.ts'], 143],
  ['the command line', ['dist/apps/cli/bundle/tollgate.cjs', 'account', 'list'], 143],
] as const;

interface Started {
  /** Resolves to the exit code. */
  ended: Promise<number | null>;
  /** Resolves when the program handles SIGTERM. */
  listens: Promise<unknown>;
  /** Resolves when the program logs this. */
  logs(text: string): Promise<void>;
  /** Pid of the program itself, not of its wrapper. */
  pid(): Promise<number>;
}

/** `below`: the command that starts Node, which is then not the first process itself. */
function start(args: readonly string[], isFirst: boolean, overrides: Record<string, string> = {}, below: readonly string[] = []): Started {
  const { port } = silent.address() as AddressInfo;
  const nats = { NATS_URL: `nats://127.0.0.1:${port}`, NATS_USER: 'user', NATS_PASSWORD: 'secret', NATS_CLI_PASSWORD: 'secret' };
  const settings = { ...nats, DATABASE_URL: `postgres://user:secret@127.0.0.1:${port}/none`, KEY_PEPPER: 'p'.repeat(32) };
  const env = { PATH: process.env.PATH, ...settings, OPS_PORT: '0', PORT: '0', PANEL_PORT: '0', ...overrides };
  const [command, ...rest] = [
    ...[...(isFirst ? NAMESPACE : []), ...below],
    ...[process.execPath, '--import', `data:text/javascript,${TELL}`, ...args],
  ] as [string, ...string[]];
  const child = spawn(command, rest, { env, stdio: ['ignore', 'pipe', 'ignore', 'pipe'] });
  children.push(child);
  let output = '';
  child.stdout?.on('data', (text) => {
    output += text;
  });
  return {
    listens: once(child.stdio[3] as Readable, 'data'),
    logs: async (text) => {
      while (!output.includes(text)) await once(child.stdout as Readable, 'data');
    },
    ended: once(child, 'exit').then(([code]) => code as number | null),
    pid: async () => {
      while (isFirst && findChild(child) === undefined) await delay(2);
      return (isFirst ? findChild(child) : child.pid) as number;
    },
  };
}

function findChild({ pid }: ChildProcess): number | undefined {
  return Number(listChildren(pid)) || undefined;
}

function listChildren(pid: number | undefined): string {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
}

// Skipped where the test cannot create a namespace, or without /proc.
(hasNamespaces ? describe : describe.skip)('as the first process of a container', () => {
  test.each(PROGRAMS)('%s ends as soon as it handles the signal, during its start', async (_, args, code) => {
    const { ended, pid, listens } = start(args, true);
    await listens;
    process.kill(await pid(), 'SIGTERM');
    expect(await ended).toBe(code);
  });

  test.each(PROGRAMS)('%s ends while it waits for NATS or Postgres', async (_, args, code) => {
    const { ended, pid } = start(args, true);
    while (sockets.length === 0) await delay(5);
    process.kill(await pid(), 'SIGTERM');
    expect(await ended).toBe(code);
  });
});

// Skipped where the test cannot create a namespace, or without Debian's tini.
(hasNamespaces && tini ? describe : describe.skip)('below the first process of the image', () => {
  test.each(PROGRAMS)('%s ends within two seconds of a signal at any moment of its start', async (_, args) => {
    const endMs = async (moment: number): Promise<number> => {
      const { ended, pid } = start(args, true, {}, [tini?.path ?? '', '--']);
      const first = await pid();
      while (!listChildren(first)) await delay(1);
      await delay(moment);
      const signalledAt = performance.now();
      process.kill(first, 'SIGTERM');
      await ended;
      return performance.now() - signalledAt;
    };
    for (const moment of MOMENTS_MS) expect(await leastMs(2_000, () => endMs(moment))).toBeLessThan(2_000);
  });
});

test('a service ends on SIGINT too', async () => {
  const { ended, pid } = start(['dist/apps/gateway/src/main.js'], false);
  while (sockets.length === 0) await delay(5);
  process.kill(await pid(), 'SIGINT');
  expect(await ended).toBe(0);
});

describe('with NATS, a service ends within two seconds while it waits', () => {
  let nats: TestNatsServer;
  let empty: Awaited<ReturnType<typeof createEmptyDatabase>>;
  beforeAll(async () => {
    [nats, empty] = await Promise.all([startNatsWithUsers(), createEmptyDatabase()]);
  });
  afterAll(() => Promise.all([nats.stop(), empty.drop()]));

  /** Milliseconds from the signal to the end of a service that waits as `waits` tells. */
  async function endMs(name: string, overrides: Record<string, string>, waits: (started: Started) => Promise<void>): Promise<number> {
    const access = { NATS_URL: nats.url, NATS_USER: name, NATS_PASSWORD: TEST_NATS_PASSWORD };
    const started = start([`dist/apps/${name}/src/main.js`], false, { ...access, ...overrides });
    await waits(started);
    const signalledAt = performance.now();
    process.kill(await started.pid(), 'SIGTERM');
    expect(await started.ended).toBe(0);
    return performance.now() - signalledAt;
  }

  test.each(['billing', 'catalog', 'panel'])('for Postgres: %s', async (name) => {
    const connected = async (): Promise<void> => {
      for (const before = sockets.length; sockets.length === before; ) await delay(5);
    };
    expect(await leastMs(2_000, () => endMs(name, {}, connected))).toBeLessThan(2_000);
  });

  test('for a migration: billing', async () => {
    const waits = (started: Started) => started.logs('_billing is missing');
    expect(await leastMs(2_000, () => endMs('billing', { DATABASE_URL: empty.url.href }, waits))).toBeLessThan(2_000);
  });

  test.each([
    ['gateway', '"missing":["catalog"]'],
    ['inference-proxy', '"missing":["routes"]'],
  ])('for the catalog: %s', async (name, missing) => {
    expect(await leastMs(2_000, () => endMs(name, {}, (started) => started.logs(missing)))).toBeLessThan(2_000);
  });
});

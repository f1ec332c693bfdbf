import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { requiredVariable } from './test-environment.js';

export interface TestNatsServer {
  readonly url: string;
  /** Kills the server with SIGKILL and starts it again on the same port. */
  restart(): Promise<void>;
  /** Has the server read its configuration again. It does so some milliseconds later. */
  reload(): void;
  /** Kills the server; `restart` brings it back. */
  kill(): Promise<void>;
  /** Starts lame duck mode: the server takes no new clients, and asks the others to leave. */
  drain(): void;
  stop(): Promise<void>;
}

/**
 * Starts a nats-server of the test's own on a free port. `args` are further flags, such as `['-c', file]`. `environment` is read at every
 * start.
 */
export async function startNatsServer(args: string[] = [], environment: Record<string, string> = {}): Promise<TestNatsServer> {
  return startServer(await freePort(), args, environment);
}

export interface TestNatsCluster {
  readonly servers: readonly TestNatsServer[];
  /** Resolves when all servers run and know one another. */
  whole(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a cluster of `count` servers, which know one another. */
export async function startNatsCluster(count: number, ...options: Parameters<typeof startNatsServer>): Promise<TestNatsCluster> {
  const [args = [], environment = {}] = options;
  const ports = await Promise.all(Array.from({ length: count }, () => Promise.all([freePort(), freePort()])));
  const routes = ports.map(([, port]) => `nats://127.0.0.1:${port}`);
  const servers = await Promise.all(
    ports.map(([port], index) => {
      const cluster = ['--cluster_name', 'test', '--cluster', routes[index] ?? '', '--routes', routes.join()];
      return startServer(port, [...args, ...cluster], environment);
    }),
  );
  const whole = async (): Promise<void> => {
    await Promise.all(ports.map(([port]) => untilClustered(port, count)));
  };
  await whole();
  return {
    servers,
    whole,
    stop: async () => {
      await Promise.all(servers.map((server) => server.stop()));
    },
  };
}

async function startServer(port: number, args: string[], environment: Record<string, string>): Promise<TestNatsServer> {
  const start = async (): Promise<ChildProcess> => {
    const child = spawn(requiredVariable('TEST_NATS_SERVER'), ['-a', '127.0.0.1', '-p', String(port), ...args], {
      stdio: 'ignore',
      env: { ...process.env, ...environment },
    });
    await reachable(port, child);
    return child;
  };
  let child = await start();
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  };
  return {
    url: `nats://127.0.0.1:${port}`,
    kill,
    stop: kill,
    reload: () => void child.kill('SIGHUP'),
    drain: () => void child.kill('SIGUSR2'),
    restart: async () => {
      await kill();
      child = await start();
    },
  };
}

/** Returns a free port outside of the range that the kernel gives to outgoing connections. */
export async function freePort(): Promise<number> {
  const ports = await import('../../../scripts/local/ports.ts');
  return ports.freePort();
}

async function reachable(port: number, child: ChildProcess): Promise<void> {
  for (;;) {
    if (child.exitCode !== null) throw new Error(`nats-server exited with ${child.exitCode}`);
    const socket = connect(port, '127.0.0.1');
    const open = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true));
      socket.once('error', () => resolve(false));
    });
    socket.destroy();
    if (open) return;
    await delay(10);
  }
}

/** Resolves when the server tells clients of `count` servers. */
async function untilClustered(port: number, count: number): Promise<void> {
  for (;;) {
    const socket = connect(port, '127.0.0.1');
    const [greeting] = (await once(socket, 'data')) as [Buffer];
    socket.destroy();
    const { connect_urls: urls } = JSON.parse(greeting.toString().slice('INFO '.length)) as { connect_urls?: string[] };
    if (urls?.length === count) return;
    await delay(20);
  }
}

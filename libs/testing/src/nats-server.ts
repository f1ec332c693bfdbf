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
  /** Puts the server in lame duck mode: it tells its clients to go, and stops when its configuration says. */
  drain(): void;
  /** Kills the server; `restart` brings it back. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts a nats-server of the test's own on a free port. `args` are further flags, such as `['-c', file]`. `environment` is read at every
 * start.
 */
export async function startNatsServer(args: string[] = [], environment: Record<string, string> = {}): Promise<TestNatsServer> {
  const port = await freePort();
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
  const ports = await import('../../../scripts/local/ports.mjs');
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

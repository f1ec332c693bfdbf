import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { requiredVariable } from './test-environment.js';

export interface TestNatsServer {
  readonly url: string;
  /** Kills the server with SIGKILL and starts it again on the same port. */
  restart(): Promise<void>;
  /** Kills the server; `restart` brings it back. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts a nats-server of the test's own. `args` are its command-line flags, such as `['-c', file]`; a port is chosen for it.
 * `environment` is read at every start, on top of the process's own (which a test cannot change for its children).
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
    restart: async () => {
      await kill();
      child = await start();
    },
  };
}

/** A port nobody listens on at this moment, nor will by chance: not one of those the kernel gives to whoever connects. */
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

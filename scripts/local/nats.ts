import { connect, type Socket } from 'node:net';
import { availableParallelism } from 'node:os';
import { delimiter, join, relative } from 'node:path';
import { unpackDebianPackages } from './debian-packages.ts';
import { PROBE_TIMEOUT_MS } from './ports.ts';
import { findOnPath, isExecutable, ROOT, StartError, TOOLS } from './project.mjs';
import { passwordVariable } from './secrets.ts';
import type { Status } from './status.mjs';
import type { Program } from './supervisor.ts';

const PACKAGE = 'nats-server';
const FETCHED = join(TOOLS, PACKAGE);
const BINARY = join(FETCHED, 'usr/sbin/nats-server');
const ADVICE = 'install Debian’s package nats-server, put a nats-server on PATH, or set NATS_URL';

/** A NATS server with the users of config/nats-passwords.conf, as a program for the supervisor. */
export async function localNats({
  port,
  passwords,
  step,
}: {
  port: number;
  passwords: Record<string, string>;
  step: Status['step'];
}): Promise<{ url: string; program: Program }> {
  const command = await findNatsServer({ step });
  const environment = Object.fromEntries(Object.entries(passwords).map(([user, password]) => [passwordVariable(user), password]));
  return {
    url: `nats://127.0.0.1:${port}`,
    program: {
      name: 'nats',
      command,
      args: ['-c', join(ROOT, 'config/nats-passwords.conf'), '-a', '127.0.0.1', '-p', String(port)],
      // On a machine shared with all services, more threads only mean more wake-ups for the same messages.
      env: { PATH: '/usr/bin:/bin', GOMAXPROCS: String(Math.max(1, Math.floor(availableParallelism() / 2))), ...environment },
      cwd: ROOT,
      probe: () => natsAnswers('127.0.0.1', port),
    },
  };
}

/** Finds nats-server on PATH or in the system's folders, or unpacks Debian's package under .local/tools. */
export async function findNatsServer({ step }: Pick<Status, 'step'>): Promise<string> {
  const found = findOnPath(PACKAGE, [...(process.env.PATH ?? '').split(delimiter), '/usr/local/sbin', '/usr/sbin', '/usr/local/bin']);
  if (found) return found;
  if (!isExecutable(BINARY)) {
    await step('nats-server', async () => {
      await fetchPackage();
      return `unpacked Debian’s package under ${relative('.', TOOLS)}`;
    });
  }
  return BINARY;
}

async function fetchPackage(): Promise<void> {
  try {
    await unpackDebianPackages({ names: [PACKAGE], folder: FETCHED });
  } catch (error) {
    throw new StartError(`no nats-server found, and Debian’s package cannot be fetched (${(error as Error).message}): ${ADVICE}`);
  }
}

/** Resolves to true when a NATS server answers. */
export async function natsAnswers(host: string, port: number): Promise<boolean> {
  return await greeting(host, port, async () => true);
}

/**
 * Users whose password the server refuses. Checked here because a service retries refused credentials, so that a start would fail only
 * after a minute. Skipped for a server that requires TLS.
 */
export async function refusedUsers(host: string, port: number, passwords: Record<string, string>): Promise<string[]> {
  const users = Object.entries(passwords);
  const accepted = await Promise.all(users.map(([user, password]) => acceptsPassword(host, port, user, password)));
  return users.flatMap(([user], index) => (accepted[index] ? [] : [user]));
}

async function acceptsPassword(host: string, port: number, user: string, pass: string): Promise<boolean> {
  return await greeting(host, port, async (info, socket) => {
    if (info.includes('"tls_required":true')) return true;
    socket.write(`CONNECT ${JSON.stringify({ verbose: false, pedantic: false, lang: 'node', version: '0', user, pass })}\r\nPING\r\n`);
    const reply = await nextText(socket);
    return !reply?.includes('-ERR');
  });
}

/** Passes the server's greeting and the connection to `next`. False without a NATS server. */
async function greeting(host: string, port: number, next: (info: string, socket: Socket) => Promise<boolean>): Promise<boolean> {
  const socket = connect({ host, port, timeout: PROBE_TIMEOUT_MS });
  try {
    const text = await nextText(socket);
    return text?.startsWith('INFO ') ? await next(text, socket) : false;
  } finally {
    socket.destroy();
  }
}

/** Undefined when the connection ends, fails or is silent for `PROBE_TIMEOUT_MS`. */
async function nextText(socket: Socket): Promise<string | undefined> {
  return await new Promise((resolve) => {
    socket.once('data', (bytes) => resolve(bytes.toString()));
    for (const event of ['error', 'timeout', 'close']) socket.once(event, () => resolve(undefined));
  });
}

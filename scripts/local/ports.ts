import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { reservePort } from './port-reservations.ts';
import { COMMAND, StartError } from './project.mjs';

// Below the ports of outgoing connections: one of those could take a service's port while the service restarts.
const FIRST = 20_000;
const LAST = 31_999;
/** A server that is silent for so long does not answer a probe. A busy machine may need seconds. */
export const PROBE_TIMEOUT_MS = 5000;
const given = new Set<number>();

/** Returns a free port of 127.0.0.1 that is not reserved and that this process has not returned before. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const port = randomInt(FIRST, LAST + 1);
    if (!given.has(port) && (await isFree(port)) && reservePort(port)) {
      given.add(port);
      return port;
    }
  }
  throw new StartError('no free port found on 127.0.0.1');
}

/** Returns ports by name, the same at every start as long as they are free. */
export async function rememberPorts<Name extends string>(file: string, names: readonly Name[]): Promise<Record<Name, number>> {
  const before = readPorts(file);
  const ports: Partial<Record<Name, number>> = {};
  for (const name of names) {
    const port = before[name];
    ports[name] = port && (await isFree(port)) && reservePort(port) ? port : await freePort();
  }
  writeFileSync(file, `${JSON.stringify(ports, null, 2)}\n`);
  return ports as Record<Name, number>;
}

/** @throws {StartError} with `advice` when the port is not free */
export async function claimPort(port: number, advice: string): Promise<void> {
  const error = await tryListen(port);
  if (error?.code === 'EADDRINUSE') throw new StartError(`port ${port} is in use by another program; ${advice}`);
  if (error) throw new StartError(`port ${port} cannot be used (${error.code}); ${advice}`);
}

/** Advice for a port in use, which the setting `name` chooses. */
export function otherPort(name: string, port: number): string {
  return `choose another: ${name}=${port < 65_535 ? port + 1 : 8080} ${COMMAND}`;
}

async function isFree(port: number): Promise<boolean> {
  return (await tryListen(port)) === undefined;
}

async function tryListen(port: number): Promise<NodeJS.ErrnoException | undefined> {
  const server = createServer();
  server.listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch (error) {
    return error as NodeJS.ErrnoException;
  }
  server.close();
  await once(server, 'close');
  return undefined;
}

function readPorts(file: string): Record<string, number | undefined> {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return {};
  }
}

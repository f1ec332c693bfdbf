import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { reservePort } from './port-reservations.mjs';
import { StartError } from './project.mjs';

// Below what the kernel hands to outgoing connections: one of those could otherwise sit on a service's port just when the
// service comes back after a crash.
const FIRST = 20_000;
const LAST = 31_999;
const given = new Set();

/** A port of 127.0.0.1 that nobody listens on or has chosen, and that this process has not handed out before. */
export async function freePort() {
  for (let attempt = 0; attempt < 200; attempt++) {
    const port = randomInt(FIRST, LAST + 1);
    if (!given.has(port) && (await isFree(port)) && reservePort(port)) {
      given.add(port);
      return port;
    }
  }
  throw new StartError('no free port found on 127.0.0.1');
}

/** Ports by name that stay the same from one start to the next, as long as they are free. */
export async function rememberPorts(file, names) {
  const before = readPorts(file);
  const ports = {};
  for (const name of names) {
    const port = before[name];
    ports[name] = port && (await isFree(port)) && reservePort(port) ? port : await freePort();
  }
  writeFileSync(file, `${JSON.stringify(ports, null, 2)}\n`);
  return ports;
}

/** @throws {StartError} when the port cannot be had; `advice` ends the line. */
export async function claimPort(port, advice) {
  const error = await tryListen(port);
  if (error?.code === 'EADDRINUSE') throw new StartError(`port ${port} is taken by another program; ${advice}`);
  if (error) throw new StartError(`port ${port} cannot be used (${error.code}); ${advice}`);
}

/** How to choose another port, for the end of such a line. */
export function otherPort(port) {
  return `choose another: PORT=${port < 65_535 ? port + 1 : 8080} npm start`;
}

async function isFree(port) {
  return (await tryListen(port)) === undefined;
}

async function tryListen(port) {
  const server = createServer();
  server.listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch (error) {
    return error;
  }
  server.close();
  await once(server, 'close');
  return undefined;
}

function readPorts(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return {};
  }
}

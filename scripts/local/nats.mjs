import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { availableParallelism } from 'node:os';
import { delimiter, join } from 'node:path';
import { findOnPath, isExecutable, ROOT, StartError, TOOLS } from './project.mjs';
import { runCommand } from './run-command.mjs';
import { passwordVariable } from './secrets.mjs';

const PACKAGE = 'nats-server';
const FETCHED = join(TOOLS, PACKAGE);
const BINARY = join(FETCHED, 'usr/sbin/nats-server');
const ADVICE = 'install Debian’s package nats-server, put a nats-server on PATH, or set NATS_URL';

/** A NATS server of our own with the users of config/nats.conf, as a program for the supervisor. */
export async function ownNats({ port, passwords, step }) {
  const command = await findNatsServer({ step });
  const environment = Object.fromEntries(Object.entries(passwords).map(([user, password]) => [passwordVariable(user), password]));
  return {
    url: `nats://127.0.0.1:${port}`,
    program: {
      name: 'nats',
      command,
      args: ['-c', join(ROOT, 'config/nats.conf'), '-a', '127.0.0.1', '-p', String(port)],
      // Beside all the other processes of one machine, more threads only mean more waking up for the same messages.
      env: { PATH: '/usr/bin:/bin', GOMAXPROCS: String(Math.max(1, Math.floor(availableParallelism() / 2))), ...environment },
      cwd: ROOT,
      probe: () => natsAnswers('127.0.0.1', port),
    },
  };
}

/** The binary on PATH, or where system packages put it, or Debian's package unpacked here. */
export async function findNatsServer({ step }) {
  const found = findOnPath(PACKAGE, [...(process.env.PATH ?? '').split(delimiter), '/usr/local/sbin', '/usr/sbin', '/usr/local/bin']);
  if (found) return found;
  if (!isExecutable(BINARY)) {
    await step('nats-server', async () => {
      await fetchPackage();
      return 'Debian’s package, unpacked under .local/tools';
    });
  }
  return BINARY;
}

async function fetchPackage() {
  for (const tool of ['apt-get', 'dpkg']) if (!findOnPath(tool)) throw new StartError(`no nats-server found: ${ADVICE}`);
  mkdirSync(TOOLS, { recursive: true });
  const work = mkdtempSync(join(TOOLS, 'fetch-'));
  try {
    await download(work);
    const file = readdirSync(work).find((name) => name.endsWith('.deb'));
    await runCommand('dpkg', ['-x', join(work, file), join(work, 'unpacked')], { failure: 'cannot unpack nats-server' });
    rmSync(FETCHED, { recursive: true, force: true });
    renameSync(join(work, 'unpacked'), FETCHED);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** A machine may never have fetched package lists: then we fetch our own, which takes no rights and changes nothing of the system. */
async function download(folder) {
  const get = (options) => runCommand('apt-get', [...options, 'download', PACKAGE], { cwd: folder });
  if (await get([]).then(Boolean, () => false)) return;
  const lists = join(folder, 'apt');
  for (const path of ['state/lists/partial', 'cache/archives/partial']) mkdirSync(join(lists, path), { recursive: true });
  const options = [
    `Dir::State=${lists}/state`,
    `Dir::Cache=${lists}/cache`,
    'Dir::State::status=/var/lib/dpkg/status',
    'APT::Sandbox::User=root',
  ];
  const flags = options.flatMap((option) => ['-o', option]);
  try {
    await runCommand('apt-get', [...flags, 'update'], { failure: 'apt-get update' });
    await get(flags);
  } catch (error) {
    throw new StartError(`no nats-server found, and Debian’s package cannot be fetched (${error.message}): ${ADVICE}`);
  }
}

/** Whether a NATS server greets there. */
export async function natsAnswers(host, port) {
  return (await greeting(host, port)) !== undefined;
}

/**
 * Those of `passwords` (by user) that the server there does not take. A service cannot tell that from a server that is being configured anew
 * and tries on, so it would be a minute until somebody hears of it. A server that wants TLS first is not asked.
 */
export async function refusedUsers(host, port, passwords) {
  const users = Object.keys(passwords);
  const taken = await Promise.all(users.map((user) => takesPassword(host, port, user, passwords[user])));
  return users.filter((_, index) => !taken[index]);
}

async function takesPassword(host, port, user, pass) {
  return await greeting(host, port, async (info, socket) => {
    if (info.includes('"tls_required":true')) return true;
    socket.write(`CONNECT ${JSON.stringify({ verbose: false, pedantic: false, lang: 'node', version: '0', user, pass })}\r\nPING\r\n`);
    const reply = await nextText(socket);
    return !reply?.includes('-ERR');
  });
}

/** What `next` makes of the server's first words and the open connection; undefined where no NATS server greets. */
async function greeting(host, port, next = () => true) {
  const socket = connect({ host, port, timeout: 1000 });
  try {
    const text = await nextText(socket);
    return text?.startsWith('INFO ') ? await next(text, socket) : undefined;
  } finally {
    socket.destroy();
  }
}

/** Undefined when the connection ends, fails or stays silent for a second. */
async function nextText(socket) {
  return await new Promise((resolve) => {
    socket.once('data', (bytes) => resolve(bytes.toString()));
    for (const event of ['error', 'timeout', 'close']) socket.once(event, () => resolve(undefined));
  });
}

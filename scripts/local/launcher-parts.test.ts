import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { lockFileInstalled } from './dependencies.mjs';
import { commonEnvironment, serviceEnvironment } from './environments.ts';
import { LogFile } from './log-file.ts';
import { natsAnswers, refusedUsers } from './nats.ts';
import { PASSWORD_USERS } from './nats-keys.mjs';
import { reservePort } from './port-reservations.ts';
import { claimPort, freePort, rememberPorts } from './ports.ts';
import { postgresAnswers } from './postgres.ts';
import { runCommand } from './run-command.mjs';
import { loadSecrets } from './secrets.ts';

let folder: string;
const servers: Server[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'launcher-'));
});
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
  rmSync(folder, { recursive: true, force: true });
});

async function listen(onConnection: (socket: Socket) => unknown = () => undefined): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => {}); // a probe resets its connection
    onConnection(socket);
  });
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

type Versions = Record<string, string>;
type InstalledCase = [name: string, installed: Versions | undefined, expected: { start: boolean; tests: boolean }, folders?: string[]];

describe('installed packages', () => {
  const locked = {
    '': { dependencies: { a: '1.0.0' }, devDependencies: { b: '1.0.0' } },
    'test/packages': { devDependencies: { t: '1.0.0' } },
    ...versions({ a: '1.0.0', b: '1.0.0', t: '1.0.0', c: '1.0.0' }),
  };
  const write = (installed: Versions | undefined, folders = Object.keys(installed ?? {})): void => {
    writeFileSync(join(folder, 'package-lock.json'), JSON.stringify({ packages: locked }));
    mkdirSync(join(folder, 'node_modules'));
    for (const name of folders) mkdirSync(join(folder, 'node_modules', name));
    if (installed) writeFileSync(join(folder, 'node_modules/.package-lock.json'), JSON.stringify({ packages: versions(installed) }));
  };

  test.each<InstalledCase>([
    ['those of the system', { a: '1.0.0', b: '1.0.0', c: '1.0.0' }, { start: true, tests: false }],
    ['all of them, and another one', { a: '1.0.0', b: '1.0.0', t: '1.0.0', other: '1.0.0' }, { start: true, tests: true }],
    ['another version', { a: '1.0.0', b: '1.0.0', t: '1.0.0', c: '1.0.1' }, { start: false, tests: false }],
    ['one is missing', { a: '1.0.0', t: '1.0.0' }, { start: false, tests: false }],
    ['an installation that was interrupted', undefined, { start: false, tests: false }],
    ['the record of another copy', { a: '1.0.0', b: '1.0.0', t: '1.0.0' }, { start: true, tests: false }, ['a', 'b']],
  ])('%s', (_name, installed, expected, ...[folders]) => {
    write(installed, folders);
    const isInstalled = (tests: boolean): boolean => lockFileInstalled({ tests, root: folder });
    expect({ start: isInstalled(false), tests: isInstalled(true) }).toEqual(expected);
  });

  function versions(packages: Versions): Record<string, { version: string }> {
    return Object.fromEntries(Object.entries(packages).map(([name, version]) => [`node_modules/${name}`, { version }]));
  }
});

describe('ports', () => {
  test('a port in use is refused in one line', async () => {
    const port = await listen();
    await expect(claimPort(port, 'choose another')).rejects.toThrow(`port ${port} is in use by another program; choose another`);
  });

  test('are remembered while they are free', async () => {
    const file = join(folder, 'ports.json');
    const first = await rememberPorts(file, ['a', 'b']);
    expect(await rememberPorts(file, ['a', 'b'])).toEqual(first);
    const taken = await listen();
    writeFileSync(file, JSON.stringify({ a: taken, b: first.b }));
    const next = await rememberPorts(file, ['a', 'b']);
    expect(next).toEqual({ a: expect.any(Number), b: first.b });
    expect(next.a).not.toBe(taken);
  });

  test('reserved by another live launcher are not used', async () => {
    const script =
      "import('./scripts/local/ports.ts').then(async ({ freePort }) => console.log(await freePort())); setInterval(() => {}, 1000);";
    const other = spawn(process.execPath, ['-e', script], { env: {}, stdio: ['ignore', 'pipe', 'inherit'] });
    const port = Number((await once(other.stdout, 'data'))[0]);
    const whileItLives = reservePort(port);
    other.kill('SIGKILL');
    await once(other, 'close');
    expect([whileItLives, reservePort(port)]).toEqual([false, true]);
  });

  test('are not returned twice', async () => {
    const ports = await Promise.all(Array.from({ length: 20 }, freePort));
    expect(new Set(ports).size).toBe(20);
  });
});

test('secrets are created once, readable only by the owner, and need no quoting', () => {
  const secrets = loadSecrets(folder);
  expect(loadSecrets(folder)).toEqual(secrets);
  expect(Object.keys(secrets.natsPasswords)).toEqual(PASSWORD_USERS);
  const all = [...Object.values(secrets.natsPasswords), secrets.keyPepper, secrets.receiptSigningKey, secrets.postgresPassword];
  expect(new Set(all).size).toBe(all.length);
  for (const secret of all) expect(secret).toMatch(/^[a-z][a-z0-9]{40,}$/);
  expect(statSync(join(folder, 'secrets.json')).mode & 0o777).toBe(0o600);
});

test('unreadable secrets stop the start, because new ones would lock out the data', () => {
  writeFileSync(join(folder, 'secrets.json'), '{"natsPasswords":');
  expect(() => loadSecrets(folder)).toThrow(/secrets\.json is not JSON: restore it, or start with --reset$/);
});

describe('environment variables', () => {
  const environment = {
    PATH: '/usr/bin',
    LOG_LEVEL: 'debug',
    LEASE_MS: '2000',
    UPSTREAM_KEY_HOSTED: 'sk-hosted',
    UPSTREAM_KEY_HOSTED_HOSTS: 'api.example.com',
    UPSTREAM_COMMAND_LOGIN: '/bin/login',
    UPSTREAM_METADATA_AWS_HOSTS: 'api.example.com',
    UPSTREAM_SECRETS_DIR: '/secrets',
    UPSTREAM_LOCAL_URL: 'http://x',
    KEY_PEPPER: 'pepper',
    NATS_CLI_PASSWORD: 'secret',
    DATABASE_URL: 'postgres://secret',
    AWS_SECRET_ACCESS_KEY: 'secret',
    NODE_OPTIONS: '--inspect',
    PANEL_OIDC_ACME_CLIENT_SECRET: 'secret',
  };
  const namesFor = (service: string, variables: string[]): string[] => Object.keys(serviceEnvironment(service, variables, environment));

  test('a service gets only its own settings', () => {
    expect(namesFor('billing', ['LOG_LEVEL', 'LEASE_MS', 'DATABASE_URL', 'KEY_PEPPER'])).toEqual(['PATH', 'LOG_LEVEL', 'LEASE_MS']);
    expect(namesFor('gateway', ['LOG_LEVEL', 'PORT'])).toEqual(['PATH', 'LOG_LEVEL']);
    expect(Object.keys(commonEnvironment(environment))).toEqual(['PATH']);
  });

  test('the catalog gets upstream addresses for its file', () => {
    expect(namesFor('catalog', ['LOG_LEVEL'])).toEqual(['PATH', 'LOG_LEVEL', 'UPSTREAM_LOCAL_URL']);
  });

  test('the panel gets the settings of its providers', () => {
    expect(namesFor('panel', ['LOG_LEVEL'])).toEqual(['PATH', 'LOG_LEVEL', 'PANEL_OIDC_ACME_CLIENT_SECRET']);
  });

  test('only the inference-proxy gets keys of upstreams, and nothing else of the shell [sec-upstream-secret]', () => {
    const proofs = ['UPSTREAM_COMMAND_LOGIN', 'UPSTREAM_METADATA_AWS_HOSTS', 'UPSTREAM_SECRETS_DIR'];
    const names = ['PATH', 'LOG_LEVEL', 'UPSTREAM_KEY_HOSTED', 'UPSTREAM_KEY_HOSTED_HOSTS', ...proofs];
    expect(namesFor('inference-proxy', ['LOG_LEVEL'])).toEqual(names);
  });
});

describe('a log file', () => {
  test('is rotated while its writer continues', () => {
    jest.useFakeTimers();
    const log = new LogFile(join(folder, 'a.log'));
    writeFileSync(log.descriptor, Buffer.alloc(11 * 1024 * 1024, 'x'));
    jest.advanceTimersByTime(2000);
    writeFileSync(log.descriptor, 'more');
    expect(statSync(`${log.path}.1`).size).toBe(11 * 1024 * 1024);
    expect(readFileSync(log.path, 'utf8')).toBe('more');
    log.close();
    jest.useRealTimers();
  });

  test.each([
    ['{"level":"fatal","msg":"NATS_URL: must be set"}\n{"level":"info","msg":"bye"}\n', 'NATS_URL: must be set'],
    ['{"level":"fatal","msg":"service failed","err":{"message":"no tables"}}\n', 'service failed: no tables'],
    ['LOG: hello\nFATAL:  no space left\nLOG: bye\n', 'FATAL:  no space left'],
    ['just this\n', 'just this'],
    ['', ''],
  ])('last error of %j', (text, complaint) => {
    writeFileSync(join(folder, 'a.log'), '{"level":"fatal","msg":"long ago"}\n');
    const log = new LogFile(join(folder, 'a.log'));
    writeFileSync(log.descriptor, text);
    expect(log.lastError()).toBe(complaint);
    log.close();
  });
});

describe('probes', () => {
  test.each([
    ['asks for authentication', 'R\0\0\0\0', true],
    ['refuses the user', 'ESFATAL\0C28000\0', true],
    ['is still starting up', 'ESFATAL\0C57P03\0', false],
  ])('a Postgres that %s', async (_name, reply, expected) => {
    const port = await listen((socket) => socket.once('data', () => socket.end(reply)));
    expect(await postgresAnswers('127.0.0.1', port)).toBe(expected);
  });

  test('recognizes a NATS server by its greeting', async () => {
    const nats = await listen((socket) => socket.write('INFO {"server_id":"x"}\r\n'));
    const web = await listen((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    expect([await natsAnswers('127.0.0.1', nats), await natsAnswers('127.0.0.1', web)]).toEqual([true, false]);
  });

  test.each([
    ['refuses wrong passwords', '', ['billing']],
    ['that requires TLS is not asked', ',"tls_required":true', []],
  ])('a NATS server %s', async (_name, info, expected) => {
    const port = await listen((socket) => {
      socket.write(`INFO {"server_id":"x"${info}}\r\n`);
      socket.on('data', (bytes) => socket.write(/"pass":"right"/.test(String(bytes)) ? 'PONG\r\n' : "-ERR 'Authorization Violation'\r\n"));
    });
    expect(await refusedUsers('127.0.0.1', port, { gateway: 'right', billing: 'wrong' })).toEqual(expected);
  });
});

describe('a command', () => {
  test('gets its input and returns its output', async () => {
    expect(await runCommand(process.execPath, ['-e', 'process.stdin.pipe(process.stdout)'], { input: 'hello' })).toBe('hello');
  });

  test.each([
    [['-e', 'console.error("first"); console.error("no flour"); process.exit(1)'], 'baking: no flour'],
    [['-e', 'console.error("Error: no flour\\n\\nBuy some."); process.exit(1)'], 'baking: Error: no flour'],
    [['-e', 'process.kill(process.pid, "SIGKILL")'], 'baking: exited with SIGKILL'],
  ])('that fails throws its error line', async (args, message) => {
    await expect(runCommand(process.execPath, args, { failure: 'baking' })).rejects.toMatchObject({ name: 'StartError', message });
  });
});

import 'reflect-metadata';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '#testing/nats-server.js';
import { requiredVariable } from '#testing/test-environment.js';
import { connectPg } from './pg-connection.js';
import { refuseTransactionPooler } from './transaction-pooler.js';

const { findDebianTool } = await import('../../../scripts/local/debian-tool.ts');
const { unprivilegedAccount } = await import('../../../scripts/local/unprivileged.ts');
const pgbouncer = await findDebianTool('pgbouncer');
// Skipped where Debian's PgBouncer is not to be had.
const withPooler = pgbouncer ? test : test.skip;

const server = new URL(requiredVariable('TEST_POSTGRES_URL'));
let folder: string;
let child: ChildProcess | undefined;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tollgate-pgbouncer-'));
  await chmod(folder, 0o755);
});
afterEach(async () => {
  if (child?.exitCode === null && child.kill('SIGKILL')) await once(child, 'exit');
  await rm(folder, { recursive: true });
});

/** Starts PgBouncer in front of the test server. Returns its URL. */
async function startPooler(settings: string[]): Promise<string> {
  const port = await freePort();
  const [name, target] = [server.pathname.slice(1), `host=${server.hostname} port=${server.port}`];
  const lines = [
    '[databases]',
    `${name} = ${target} user=${server.username} password=${server.password}`,
    '[pgbouncer]',
    ...['listen_addr = 127.0.0.1', `listen_port = ${port}`, 'unix_socket_dir =', 'auth_type = any', ...settings],
  ];
  const file = join(folder, 'pgbouncer.ini');
  await writeFile(file, `${lines.join('\n')}\n`);
  child = spawn(pgbouncer?.path ?? '', [file], { ...unprivilegedAccount(), cwd: '/', env: { ...pgbouncer?.env }, stdio: 'ignore' });
  const url = `postgres://${server.username}@127.0.0.1:${port}/${name}`;
  while (!(await listens(port))) {
    if (child.exitCode !== null) throw new Error(`pgbouncer exited with ${child.exitCode}`);
    await delay(10);
  }
  return url;
}

async function listens(port: number): Promise<boolean> {
  const socket = createConnection(port, '127.0.0.1');
  const open = await once(socket, 'connect').then(
    () => true,
    () => false,
  );
  socket.destroy();
  return open;
}

const PASSES_SETTINGS = 'ignore_startup_parameters = statement_timeout,options';

withPooler('a pooler in transaction mode is refused', async () => {
  const url = await startPooler(['pool_mode = transaction', PASSES_SETTINGS]);
  await expect(refuseTransactionPooler(url, 'test')).rejects.toMatchObject({
    name: 'ConfigError',
    message: expect.stringMatching(/^DATABASE_URL: leads to a pooler in transaction mode, which breaks session locks: .*$/),
  });
});

withPooler('a pooler in session mode is accepted', async () => {
  const url = await startPooler(['pool_mode = session', PASSES_SETTINGS]);
  await refuseTransactionPooler(url, 'test');
  const connection = await connectPg({ url, applicationName: 'test' });
  expect((await connection.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  await connection.end();
});

withPooler('a pooler that refuses the settings of a session says so', async () => {
  const url = await startPooler(['pool_mode = session']);
  await expect(connectPg({ url, applicationName: 'test' })).rejects.toThrow('unsupported startup parameter: statement_timeout');
});

test('Postgres itself is accepted', async () => {
  await refuseTransactionPooler(server.href, 'test');
});

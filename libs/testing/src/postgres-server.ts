import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { chmod, chown, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { LocalPostgres } from '../../../scripts/local/postgres.ts';
import { freePort } from './nats-server.js';

const run = promisify(execFile);
const POLL_MS = 10;
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  shared_buffers: '16MB',
  max_connections: '100',
  fsync: 'off',
  full_page_writes: 'off',
};

/** A Postgres server of the test's own, on a free port, whose user `tollgate` has the password `test`. */
export class TestPostgres {
  private child: ChildProcess | undefined;

  private constructor(
    /** Has the data folder, and may have other files. The server's account may write into it. */
    readonly folder: string,
    readonly data: string,
    readonly port: number,
    private readonly program: LocalPostgres['program'],
  ) {}

  /** Creates a server with the empty database `tollgate`. `start` starts it. */
  static async create(): Promise<TestPostgres> {
    const { localPostgres } = await import('../../../scripts/local/postgres.ts');
    const [folder, port] = await Promise.all([openFolder(), freePort()]);
    const step = async (_name: string, work: () => Promise<unknown>): Promise<void> => void (await work());
    const { program } = await localPostgres({ dataDir: folder, port, password: 'test', durable: false, step });
    return new TestPostgres(folder, program.args[1] ?? '', port, program);
  }

  get url(): string {
    return `postgres://tollgate:test@127.0.0.1:${this.port}/tollgate`;
  }

  private get log(): string {
    return join(this.folder, 'log');
  }

  /** Folder of the server's programs. */
  get bin(): string {
    return dirname(this.program.command);
  }

  /** Account of the server, for a process of `spawn`. */
  get account(): { uid?: number; gid?: number } {
    const { uid, gid } = this.program;
    return uid === undefined || gid === undefined ? {} : { uid, gid };
  }

  /** Resolves when the server accepts sessions. */
  async start(settings: Record<string, string> = {}): Promise<void> {
    const { postgresAnswers } = await import('../../../scripts/local/postgres.ts');
    const options = Object.entries({ ...SETTINGS, ...settings }).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const log = openSync(this.log, 'a');
    const child = spawn(this.program.command, ['-D', this.data, '-p', String(this.port), ...options], {
      ...this.account,
      cwd: '/',
      env: this.program.env,
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    this.child = child;
    while (!(await postgresAnswers('127.0.0.1', this.port))) {
      if (child.exitCode !== null) throw new Error(`postgres exited: ${await readFile(this.log, 'utf8')}`);
      await delay(POLL_MS);
    }
  }

  /** Ends the sessions and the server. */
  async stop(): Promise<void> {
    const { child } = this;
    this.child = undefined;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGINT');
    await exited;
  }

  /** Writes a file that the server reads into its data folder. */
  async write(name: string, text: string): Promise<void> {
    const file = join(this.data, name);
    await writeFile(file, text, { mode: 0o600 });
    const { uid, gid } = this.account;
    if (uid !== undefined && gid !== undefined) await chown(file, uid, gid);
  }

  /** Copies the data folder of a stopped server, or `from` instead, as a server on another port. */
  async copy(from = this.data): Promise<TestPostgres> {
    const [folder, port] = await Promise.all([openFolder(), freePort()]);
    const data = join(folder, 'data');
    await run('cp', ['-a', from, data]);
    return new TestPostgres(folder, data, port, this.program);
  }

  /** Stops the server and removes its data. */
  async remove(): Promise<void> {
    await this.stop();
    await rm(this.folder, { recursive: true, force: true });
  }
}

/** A folder that the server's account may write into. */
async function openFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-postgres-'));
  await chmod(folder, 0o777);
  return folder;
}

import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { embeddedPostgres } from './dependencies.mjs';
import { PROBE_TIMEOUT_MS } from './ports.ts';
import { findOnPath, isExecutable, packageFile, StartError } from './project.mjs';
import { runCommand } from './run-command.mjs';
import type { Status } from './status.mjs';
import type { Program } from './supervisor.ts';
import { type Account, canEnter, ownedFolder, unprivilegedAccount } from './unprivileged.ts';

const MAJOR_MIN = 15;
const FOLDER = 'postgres';
const USER = 'tollgate';
const DEBIAN = '/usr/lib/postgresql';

/** Longest path of a Unix socket that Linux and macOS accept. */
const SOCKET_PATH_MAX = 103;

export interface LocalPostgres {
  url: string;
  /** Folder of the Unix socket: a round trip over it costs both sides less than over TCP. Absent when no setting can name it. */
  socketFolder: string | undefined;
  /** Major version. */
  version: number;
  program: Program;
}

/**
 * A PostgreSQL server in `dataDir`, as a program for the supervisor. Creates its cluster and the database `tollgate` if they are missing.
 * `durable: false`, for tests, does not wait for the disk.
 */
export async function localPostgres({
  dataDir,
  port,
  password,
  durable = true,
  step,
}: {
  dataDir: string;
  port: number;
  password: string;
  durable?: boolean;
  step: Status['step'];
}): Promise<LocalPostgres> {
  const account = unprivilegedAccount();
  const folder = ownedFolder(dataDir, FOLDER, account);
  const cluster = join(folder, 'data');
  const { bin, version } = await chooseBinaries(cluster, folder, account);
  if (!existsSync(cluster)) {
    await step('postgres', async () => {
      await makeCluster({ bin, folder, cluster, password, account, durable });
      return `created a cluster (PostgreSQL ${version})`;
    });
  }
  chmodSync(cluster, 0o700); // required by the server, and lost in a copied or restored folder
  const hasSocket = join(folder, `.s.PGSQL.${port}`).length <= SOCKET_PATH_MAX && !/[,"]/.test(folder); // a comma separates folders
  const socketFolder = hasSocket ? folder : undefined;
  const settings: Record<string, string> = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: socketFolder ?? '',
    max_connections: '300',
    shared_buffers: '256MB',
    max_wal_size: '4GB',
    ...(durable ? {} : { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }),
  };
  return {
    url: `postgres://${USER}:${password}@127.0.0.1:${port}/tollgate`,
    socketFolder,
    version,
    program: {
      name: 'postgres',
      command: join(bin, 'postgres'),
      args: ['-D', cluster, '-p', String(port), ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
      env: serverEnvironment(),
      cwd: '/',
      ...account,
      stopSignal: 'SIGINT', // fast shutdown: ends sessions and rolls back open transactions
      probe: () => postgresAnswers('127.0.0.1', port),
    },
  };
}

/** Chooses a PostgreSQL from PATH, Debian's folders or npm: of an existing cluster's major version, or of `TEST_POSTGRES_VERSION`. */
async function chooseBinaries(cluster: string, folder: string, account: Account | undefined): Promise<{ bin: string; version: number }> {
  const kept = existsSync(cluster) ? readFileSync(join(cluster, 'PG_VERSION'), 'utf8') : undefined;
  const wanted = Number(kept ?? process.env.TEST_POSTGRES_VERSION) || undefined;
  for (const candidate of candidates()) {
    const bin = canEnter(join(candidate, 'postgres'), account) ? candidate : reachableCopy(candidate, folder, account);
    const version = bin && (await majorVersion(bin, account));
    if (version && (wanted === undefined ? version >= MAJOR_MIN : version === wanted)) return { bin, version };
  }
  if (kept) throw new StartError(`the data needs PostgreSQL ${wanted}, which is not installed: install it, or start with --reset`);
  if (wanted) throw new StartError(`TEST_POSTGRES_VERSION: PostgreSQL ${wanted} is not installed`);
  throw new StartError('no PostgreSQL found: install Debian’s package postgresql, or set DATABASE_URL');
}

function candidates(): string[] {
  const onPath = findOnPath('postgres');
  const debian = existsSync(DEBIAN) ? readdirSync(DEBIAN).sort((a, b) => Number(b) - Number(a)) : [];
  const folders = [
    onPath && dirname(realpathSync(onPath)),
    ...debian.map((version) => join(DEBIAN, version, 'bin')),
    embeddedPostgres()?.bin,
  ];
  return [...new Set(folders)].filter(
    (bin) => bin !== undefined && isExecutable(join(bin, 'postgres')) && isExecutable(join(bin, 'initdb')),
  ) as string[];
}

/** Copies npm's binaries out of a folder that only root may enter. */
function reachableCopy(bin: string, folder: string, account: Account | undefined): string | undefined {
  const embedded = embeddedPostgres();
  if (embedded === undefined || bin !== embedded.bin) return undefined;
  const { version } = JSON.parse(readFileSync(packageFile(`${embedded.packageName}/package.json`), 'utf8'));
  const copy = join(folder, `binaries-${version}`);
  if (!existsSync(copy)) {
    cpSync(embedded.native, `${copy}.new`, { recursive: true, verbatimSymlinks: true });
    renameSync(`${copy}.new`, copy);
  }
  return canEnter(join(copy, 'bin/postgres'), account) ? join(copy, 'bin') : undefined;
}

async function majorVersion(bin: string, account: Account | undefined): Promise<number> {
  const output = await runCommand(join(bin, 'postgres'), ['--version'], { ...account, cwd: '/' }).catch(() => '');
  return Number(/\(PostgreSQL\) (\d+)/.exec(output)?.[1] ?? 0);
}

/** Creates the cluster in a draft folder and renames it, so that an interrupted start leaves no incomplete cluster. */
async function makeCluster({
  bin,
  folder,
  cluster,
  password,
  account,
  durable,
}: {
  bin: string;
  folder: string;
  cluster: string;
  password: string;
  account: Account | undefined;
  durable: boolean;
}): Promise<void> {
  const draft = `${cluster}.new`;
  const passwordFile = join(folder, 'password');
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { mode: 0o700 });
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (account) for (const path of [draft, passwordFile]) chownSync(path, account.uid, account.gid);
  const options = { ...account, cwd: '/', env: serverEnvironment(), failure: 'cannot create the PostgreSQL cluster' };
  try {
    const login = ['-U', USER, '--auth=scram-sha-256', `--pwfile=${passwordFile}`, ...(durable ? [] : ['--no-sync'])];
    await runCommand(join(bin, 'initdb'), ['-D', draft, ...login, '--encoding=UTF8', '--no-locale'], options);
    // Single-user mode: npm's package has no client.
    await runCommand(join(bin, 'postgres'), ['--single', '-D', draft, 'postgres'], { ...options, input: 'CREATE DATABASE tollgate\n' });
  } finally {
    rmSync(passwordFile, { force: true });
  }
  renameSync(draft, cluster);
}

/** Passes none of the launcher's environment, because `PGDATA`, `LD_LIBRARY_PATH` and others change the server. */
function serverEnvironment(): Record<string, string> {
  return { PATH: '/usr/bin:/bin', LANG: 'C', TZ: 'UTC' };
}

/** Resolves to true when a server accepts sessions: it answers a start-up packet with an authentication request. */
export async function postgresAnswers(host: string, port: number): Promise<boolean> {
  const parameters = Buffer.from('user\0probe\0database\0postgres\0\0');
  const header = Buffer.alloc(8);
  header.writeInt32BE(header.length + parameters.length, 0);
  header.writeInt32BE(3 << 16, 4); // protocol 3.0
  const socket = connect({ host, port, timeout: PROBE_TIMEOUT_MS });
  try {
    return await new Promise((resolve) => {
      socket.once('connect', () => socket.write(Buffer.concat([header, parameters])));
      socket.once('data', (reply) => resolve(reply.toString('latin1', 0, 1) === 'R' || /C28/.test(reply.toString('latin1'))));
      for (const event of ['error', 'timeout', 'close']) socket.once(event, () => resolve(false));
    });
  } finally {
    socket.destroy();
  }
}

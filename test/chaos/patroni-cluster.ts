import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readdirSync } from 'node:fs';
import { chmod, chown, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { stringify } from 'yaml';
import { freePort } from '#testing/nats-server.js';
import type { DebianTool } from '../../scripts/local/debian-tool.ts';
import { listChildren } from './chaos-system.js';

const DEBIAN = '/usr/lib/postgresql';
const POLL_MS = 50;
const NODES = 2;
const PASSWORD = 'test';

interface Node {
  name: string;
  folder: string;
  postgresPort: number;
  restPort: number;
}

interface Member {
  name: string;
  role: string;
  state: string;
}

/** Two Postgres servers under Debian's Patroni and etcd, of which one is the synchronous standby of the other. */
export class PatroniCluster {
  private readonly processes: ChildProcess[] = [];

  private constructor(
    private readonly folder: string,
    private readonly nodes: readonly Node[],
    private readonly account: { uid: number; gid: number } | undefined,
  ) {}

  /** Undefined where Debian's packages are not to be had. */
  static async start(): Promise<PatroniCluster | undefined> {
    const { findDebianTool } = await import('../../scripts/local/debian-tool.ts');
    const { unprivilegedAccount } = await import('../../scripts/local/unprivileged.ts');
    const [etcd, patroni] = [await findDebianTool('etcd', 'etcd-server'), await findDebianTool('patroni')];
    if (!etcd || !patroni) return undefined;
    const account = unprivilegedAccount();
    const folder = await mkdtemp(join(tmpdir(), 'tollgate-patroni-'));
    await own(folder, account);
    const nodes: Node[] = [];
    for (let index = 1; index <= NODES; index++) {
      const node = {
        name: `node${index}`,
        folder: join(folder, `node${index}`),
        postgresPort: await freePort(),
        restPort: await freePort(),
      };
      await mkdir(node.folder);
      await own(node.folder, account);
      nodes.push(node);
    }
    const cluster = new PatroniCluster(folder, nodes, account);
    try {
      await cluster.startAll(etcd, patroni);
      return cluster;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  /** URL with both hosts. */
  get url(): string {
    const hosts = this.nodes.map(({ postgresPort }) => `127.0.0.1:${postgresPort}`);
    return `postgres://tollgate:${PASSWORD}@${hosts.join(',')}/tollgate`;
  }

  /** URL of the primary alone. */
  async primaryUrl(): Promise<string> {
    return makeUrl(await this.primary(), 'tollgate');
  }

  /** Resolves when the primary has a synchronous standby, without which Patroni refuses a switchover. */
  async untilSynchronous(): Promise<void> {
    while (!(await this.members()).some(({ role }) => role === 'sync_standby')) await delay(POLL_MS);
  }

  /** Makes the standby the primary. */
  async switchOver(): Promise<void> {
    const { name, restPort } = await this.primary();
    const response = await fetch(`http://127.0.0.1:${restPort}/switchover`, { method: 'POST', body: JSON.stringify({ leader: name }) });
    if (!response.ok) throw new Error(`switchover: ${response.status} ${await response.text()}`);
  }

  /** Kills the primary's postmaster; its sessions end with it. */
  async killPrimary(): Promise<void> {
    process.kill(await readPostmaster(await this.primary()), 'SIGKILL');
  }

  /** Stops the primary's Patroni and all its sessions, like a host that is cut off. Returns the function that lets them go on. */
  async freezePrimary(): Promise<() => void> {
    const node = await this.primary();
    const patroni = this.processes[1 + this.nodes.indexOf(node)]?.pid ?? Number.NaN;
    const postmaster = await readPostmaster(node);
    const pids = [patroni, postmaster, ...listChildren(postmaster)];
    for (const pid of pids) process.kill(pid, 'SIGSTOP');
    return () => {
      for (const pid of pids) process.kill(pid, 'SIGCONT');
    };
  }

  async stop(): Promise<void> {
    for (const child of [...this.processes].reverse()) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
    }
    // A Patroni that ends while it starts Postgres leaves it running.
    for (const node of this.nodes) await endPostmaster(node);
    await rm(this.folder, { recursive: true, force: true });
  }

  private async startAll(etcd: DebianTool, patroni: DebianTool): Promise<void> {
    const [clients, peers] = (await Promise.all([freePort(), freePort()])).map((port) => `http://127.0.0.1:${port}`);
    const addresses = { '--listen-client-urls': clients, '--advertise-client-urls': clients, '--listen-peer-urls': peers };
    const cluster = { '--initial-advertise-peer-urls': peers, '--initial-cluster': `default=${peers}` };
    const args = Object.entries({ '--data-dir': join(this.folder, 'etcd'), ...addresses, ...cluster }).flat() as string[];
    this.run('etcd', etcd, args);
    while (!(await fetch(`${clients}/health`).catch(() => undefined))?.ok) await delay(POLL_MS);
    for (const node of this.nodes) {
      const file = join(node.folder, 'patroni.yml');
      await writeFile(file, stringify(configuration(node, new URL(clients ?? '').host)));
      this.run(node.name, patroni, [file]);
    }
    await createDatabase(await this.primary());
    await this.untilSynchronous();
  }

  private run(name: string, tool: DebianTool, args: string[]): void {
    const log = openSync(join(this.folder, `${name}.log`), 'a');
    const env = { PATH: '/usr/bin:/bin', LANG: 'C.UTF-8', HOME: this.folder, ...tool.env };
    this.processes.push(spawn(tool.path, args, { ...this.account, cwd: this.folder, env, stdio: ['ignore', log, log] }));
    closeSync(log);
  }

  /** The node that is the primary now. Waits for one. */
  private async primary(): Promise<Node> {
    for (;;) {
      const leader = (await this.members()).find(({ role, state }) => role === 'leader' && state === 'running');
      const node = this.nodes.find(({ name }) => name === leader?.name);
      if (node) return node;
      await delay(POLL_MS);
    }
  }

  private async members(): Promise<Member[]> {
    for (const { restPort } of this.nodes) {
      const reply = await fetch(`http://127.0.0.1:${restPort}/cluster`, { signal: AbortSignal.timeout(1_000) }).then(
        (response) => response.json() as Promise<{ members?: Member[] }>,
        () => undefined,
      );
      if (reply?.members) return reply.members;
    }
    return [];
  }
}

async function readPostmaster({ folder }: Node): Promise<number> {
  return Number((await readFile(join(folder, 'data/postmaster.pid'), 'utf8')).split('\n')[0]);
}

/** Resolves when the server has removed its `postmaster.pid`, or has died without. */
async function endPostmaster(node: Node): Promise<void> {
  try {
    for (;;) {
      process.kill(await readPostmaster(node), 'SIGQUIT');
      await delay(POLL_MS);
    }
  } catch {
    // It has ended.
  }
}

function configuration({ name, folder, postgresPort, restPort }: Node, etcd: string): object {
  const [version] = readdirSync(DEBIAN).sort((a, b) => Number(b) - Number(a));
  return {
    scope: 'tollgate',
    name,
    restapi: { listen: `127.0.0.1:${restPort}`, connect_address: `127.0.0.1:${restPort}` },
    etcd3: { host: etcd },
    bootstrap: {
      dcs: {
        // A host that is cut off is replaced after `ttl` seconds.
        ...{ ttl: 5, loop_wait: 1, retry_timeout: 2, maximum_lag_on_failover: 1_048_576 },
        // A primary that has died is replaced at once instead of started again.
        ...{ primary_start_timeout: 0, master_start_timeout: 0 },
        synchronous_mode: true,
        postgresql: { use_pg_rewind: true, parameters: { max_connections: 100, shared_buffers: '32MB', fsync: 'off' } },
      },
      initdb: [{ encoding: 'UTF8' }, { auth: 'scram-sha-256' }, 'no-locale'],
    },
    postgresql: {
      listen: `127.0.0.1:${postgresPort}`,
      connect_address: `127.0.0.1:${postgresPort}`,
      data_dir: join(folder, 'data'),
      bin_dir: join(DEBIAN, version ?? '', 'bin'),
      pgpass: join(folder, 'pgpass'),
      parameters: { unix_socket_directories: folder },
      pg_hba: ['host all all 127.0.0.1/32 scram-sha-256', 'host replication all 127.0.0.1/32 scram-sha-256', 'local all all scram-sha-256'],
      authentication: {
        superuser: { username: 'tollgate', password: PASSWORD },
        replication: { username: 'replicator', password: PASSWORD },
      },
    },
  };
}

async function createDatabase(primary: Node): Promise<void> {
  const client = new pg.Client({ connectionString: makeUrl(primary, 'postgres') });
  await client.connect();
  await client.query('CREATE DATABASE tollgate');
  await client.end();
}

function makeUrl({ postgresPort }: Node, database: string): string {
  return `postgres://tollgate:${PASSWORD}@127.0.0.1:${postgresPort}/${database}`;
}

async function own(folder: string, account: { uid: number; gid: number } | undefined): Promise<void> {
  await chmod(folder, 0o755);
  if (account) await chown(folder, account.uid, account.gid);
}

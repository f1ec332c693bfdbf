import { readFileSync } from 'node:fs';
import { type Layout, type RunningStack, startPrivateStack } from '#testing/stack.js';
import { type Cut, TcpLink } from '#testing/tcp-link.js';
import type { Replica, RunningReplicas } from '../../scripts/local/replicas.ts';

/** Seconds instead of minutes, so that leases expire within the test. */
export const LEASE_MS = 2_000;
export const REAPER_GRACE_MS = 500;
const SETTINGS = {
  LEASE_MS: `${LEASE_MS}`,
  REAPER_INTERVAL_MS: '250',
  REAPER_GRACE_MS: `${REAPER_GRACE_MS}`,
  SETTLE_AFTER_ABORT_MS: '1000',
};
const REPLICAS = 2;

/** Programs that run twice. The death of a `tollgate` is that of a gateway, an inference-proxy, a billing service and a catalog. */
const SERVICES = { split: ['gateway', 'inference-proxy', 'billing'], all: ['tollgate'] } as const;
const TARGETS = ['gateway', 'inference-proxy', 'billing', 'catalog'] as const;
const SERVERS = ['nats', 'postgres', 'upstream-sim'] as const;
type Server = (typeof SERVERS)[number];

/** A system for fault injection: two replicas of each service, or of all in one process, each behind its own links to the servers. */
export class ChaosSystem {
  readonly processes: string[];
  /** Links that can be cut, such as `billing-1 to postgres`. */
  readonly links: string[];

  private constructor(
    readonly stack: RunningStack,
    private readonly replicas: RunningReplicas,
    private readonly names: readonly string[],
    private readonly cables: Map<string, TcpLink>,
  ) {
    this.processes = [...names, ...SERVERS];
    this.links = [...cables.keys()];
  }

  static async start(layout: Layout): Promise<ChaosSystem> {
    const others = layout === 'all' ? [] : (['catalog'] as const);
    const stack = await startPrivateStack({ services: [...others, 'upstream-sim'], durable: true });
    const cables = new Map<string, TcpLink>();
    try {
      const link = async (name: string, to: Server, url: string): Promise<number> => {
        const cable = await TcpLink.to(Number(new URL(url).port));
        cables.set(`${name} to ${to}`, cable);
        return cable.port;
      };
      const replicas: Replica[] = [];
      for (const service of SERVICES[layout]) {
        for (let number = 1; number <= REPLICAS; number++) {
          const name = `${service}-${number}`;
          const nats = await link(name, 'nats', stack.natsUrl);
          const hasTables = service === 'billing' || service === 'tollgate';
          const via = hasTables ? { nats, postgres: await link(name, 'postgres', stack.databaseUrl) } : { nats };
          replicas.push({ name, service, targets: TARGETS, env: SETTINGS, via });
        }
      }
      const { startReplicas } = await import('../../scripts/local/replicas.ts');
      const names = replicas.map(({ name }) => name);
      return new ChaosSystem(stack, await startReplicas(stack, replicas), names, cables);
    } catch (error) {
      for (const cable of cables.values()) cable.close();
      await stack.stop();
      throw error;
    }
  }

  get gatewayUrls(): string[] {
    return Object.values(this.replicas.gatewayUrls);
  }

  findGatewayName(url: string): string {
    return Object.entries(this.replicas.gatewayUrls).find(([, own]) => own === url)?.[0] ?? '';
  }

  get logDirs(): string[] {
    return [this.stack.logDir, this.replicas.logDir];
  }

  /** Sends SIGKILL. The supervisor restarts the process. */
  async kill(name: string): Promise<void> {
    if (isServer(name)) await this.stack.kill(name);
    else await this.replicas.kill(name);
  }

  /** Sends SIGSTOP to all of its processes. Returns the function that resumes them. */
  freeze(name: string): () => void {
    const pid = isServer(name) ? this.stack.pid(name) : this.replicas.pid(name);
    const pids = pid === undefined ? [] : [pid, ...listChildren(pid)];
    for (const one of pids) signal(one, 'SIGSTOP');
    return () => {
      for (const one of pids) signal(one, 'SIGCONT');
    };
  }

  /** Cuts a link. Returns the function that restores it. */
  cut(link: string, how: Cut): () => void {
    this.cables.get(link)?.cut(how);
    return () => this.cables.get(link)?.restore();
  }

  reset(link: string): void {
    this.cables.get(link)?.reset();
  }

  async untilReady(): Promise<void> {
    await Promise.all([...SERVERS.map((server) => this.stack.ready(server)), ...this.names.map((name) => this.replicas.ready(name))]);
  }

  async stop(): Promise<void> {
    await this.replicas.stop();
    await this.stack.stop();
    for (const cable of this.cables.values()) cable.close();
  }
}

function isServer(name: string): name is Server {
  return (SERVERS as readonly string[]).includes(name);
}

/** Child processes; Postgres has one for each session. */
export function listChildren(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // Already dead.
  }
}

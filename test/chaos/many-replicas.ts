import type { Messaging } from '#messaging/messaging.js';
import { LAYOUT, type Layout, type RunningStack, startPrivateStack } from '#testing/stack.js';
import { connectAdministrator } from '#testing/tenant.js';
import type { Replica, RunningReplicas } from '../../scripts/local/replicas.ts';

/** On one Postgres and one NATS: 4 gateways, 3 billing services, 2 inference-proxies and a catalog, or 2 replicas of all in one process. */
export class ManyReplicas {
  private constructor(
    readonly stack: RunningStack,
    private readonly replicas: RunningReplicas,
    /** Names of the replicas, those of a service one after the other. */
    readonly names: readonly string[],
    readonly administrator: Messaging,
  ) {}

  /** `natsUrl` is a NATS server of the test, `databaseUrl` a Postgres; `makeEnv` returns further settings of a replica. */
  static async start({
    layout = LAYOUT,
    makeEnv,
    ...servers
  }: {
    layout?: Layout;
    natsUrl?: string;
    databaseUrl?: string;
    makeEnv?: (service: string) => Record<string, string>;
  } = {}): Promise<ManyReplicas> {
    const stack = await startPrivateStack({ services: ['upstream-sim'], ...servers, ownPostgres: true });
    try {
      const { startReplicas } = await import('../../scripts/local/replicas.ts');
      const all = COPIES[layout].map((replica) => ({ ...replica, env: makeEnv?.(replica.service) }));
      const names = all.map(({ name }) => name);
      return new ManyReplicas(stack, await startReplicas(stack, all), names, await connectAdministrator(stack));
    } catch (error) {
      await stack.stop();
      throw error;
    }
  }

  /** URL of the gateway number `index`, modulo their number. */
  gatewayUrl(index: number): string {
    const urls = Object.values(this.replicas.gatewayUrls);
    return urls[index % urls.length] ?? '';
  }

  /** URL of each gateway by its name. */
  get gatewayUrls(): Record<string, string> {
    return this.replicas.gatewayUrls;
  }

  /** Ends a replica as an orchestrator does. Resolves when its successor is ready. */
  async replace(name: string): Promise<void> {
    await this.replicas.kill(name, 'SIGTERM');
    await this.replicas.ready(name);
  }

  /** Kills a replica with SIGKILL. Resolves when its successor is ready. */
  async kill(name: string): Promise<void> {
    await this.replicas.kill(name);
    await this.replicas.ready(name);
  }

  /** Sends a chat request to the gateway number `index`. Does not throw for an HTTP error. */
  async ask(apiKey: string, index: number, directives: string): Promise<Answer> {
    const sentAt = performance.now();
    const response = await fetch(`${this.gatewayUrl(index)}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'sim-fast',
        max_tokens: 100,
        messages: [{ role: 'user', content: `Request ${String(index).padStart(4, '0')} [[sim ${directives}]]` }],
      }),
    });
    const receivedAt = performance.now();
    const body = (await response.json()) as Answer['body'];
    return { status: response.status, retryAfter: Number(response.headers.get('retry-after')), sentAt, receivedAt, body };
  }

  /** Freezes the upstream during `work`, so that admitted requests stay in progress. */
  async whileUpstreamStandsStill(work: () => Promise<void>): Promise<void> {
    const pid = this.stack.pid('upstream-sim');
    if (pid === undefined) throw new Error('the upstream does not run');
    process.kill(pid, 'SIGSTOP');
    try {
      await work();
    } finally {
      process.kill(pid, 'SIGCONT');
    }
  }

  async stop(): Promise<void> {
    await this.administrator.close();
    await this.replicas.stop();
    await this.stack.stop();
  }
}

export interface Answer {
  status: number;
  /** Seconds; 0 without the header. */
  retryAfter: number;
  /** Time of `performance.now()`. */
  sentAt: number;
  receivedAt: number;
  body: {
    usage?: { prompt_tokens: number; completion_tokens: number };
    error?: { code: string; message: string };
  };
}

function copies(service: Replica['service'], count: number): Replica[] {
  const targets = ['gateway', 'inference-proxy', 'billing', 'catalog'] as const;
  return Array.from({ length: count }, (_, index) => ({ name: `${service}-${index + 1}`, service, targets }));
}

const COPIES: Record<Layout, Replica[]> = {
  split: [...copies('gateway', 4), ...copies('billing', 3), ...copies('inference-proxy', 2), ...copies('catalog', 1)],
  all: copies('tollgate', 2),
};

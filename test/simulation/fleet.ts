import { Registry } from 'prom-client';
import type { GenerateRequest } from '#contracts/inference.js';
import { isContent } from '#inference/stream-event.js';
import { createLogger } from '#observability/logger.js';
import { type InferenceDependencies, streamInference } from '../../apps/inference-proxy/src/calls/stream-inference.js';
import { ProxyMetrics } from '../../apps/inference-proxy/src/metrics/proxy-metrics.js';
import { RouteTable, type RoutingOptions } from '../../apps/inference-proxy/src/routing/route-table.js';
import { upstreamNamed } from '../../apps/inference-proxy/test/routing-fixture.js';
import { Random } from './random.js';
import { POISON, SimulatedServer } from './simulated-server.js';
import { VirtualTime } from './virtual-time.js';

/** The defaults of the service. */
const DEFAULTS: RoutingOptions = {
  cooldownMs: 3_000,
  slowStartMs: 10_000,
  retryAfterMaxMs: 60_000,
  retryPercent: 20,
  retryBurst: 1_000,
  queueMax: 100,
  queueWaitMs: 2_000,
};

export interface FleetOptions {
  seed?: number;
  requestsPerSecond?: number;
  options?: Partial<RoutingOptions>;
  /** Fraction of the requests that break every server. */
  poisonShare?: number;
  /** Milliseconds without content after which a client disconnects; by default none does. */
  patienceMs?: number;
  /** Fraction of the clients that disconnect after `patienceMs`; by default all. */
  impatientShare?: number;
  timeouts?: typeof TIMEOUTS;
  /** Number of accounts, which send requests in turn. */
  accounts?: number;
  servers: Record<string, { weight?: number; concurrencyMax?: number; firstContentMs?: number; priority?: number }>;
}

const SILENT = createLogger('fleet', 'silent');
const TIMEOUTS = { connectMs: 1_000, firstByteMs: 2_000, idleMs: 3_000, totalMs: 20_000 };

/** One inference-proxy in front of the servers of one model, in virtual time. Requests come at random, each of another conversation. */
export class Fleet {
  readonly servers: Record<string, SimulatedServer> = {};
  /** Failures that clients saw, with the times of their requests; without those of the requests that break servers. */
  readonly failures: { at: number; accountId: string; code: string }[] = [];
  private readonly firstContents: { accountId: string; ms: number }[] = [];
  requests = 0;
  /** Times of the requests whose clients disconnected. */
  readonly left: number[] = [];
  /** Requests in progress. */
  underWay = 0;
  private readonly table: RouteTable;
  private readonly dependencies: InferenceDependencies;

  private constructor(
    private readonly time: VirtualTime,
    private readonly random: Random,
    private readonly options: FleetOptions,
  ) {
    this.table = new RouteTable(new ProxyMetrics(new Registry()), { ...DEFAULTS, ...options.options }, SILENT, random.next);
    for (const [id, { firstContentMs = 100 }] of Object.entries(options.servers))
      this.servers[id] = new SimulatedServer(id, { firstContentMs, streamMs: 200 }, random);
    this.table.apply({
      revision: 1,
      upstreams: Object.keys(options.servers).map((id) =>
        upstreamNamed(id, { timeouts: options.timeouts ?? TIMEOUTS, connectionsMax: 1_000 }),
      ),
      models: [
        {
          id: 'model',
          routes: Object.entries(options.servers).map(([upstream, { weight = 1, priority = 0, concurrencyMax = null }]) => ({
            upstream,
            model: 'theirs',
            weight,
            priority,
            concurrencyMax,
          })),
        },
      ],
    });
    this.dependencies = {
      routes: {
        acquire: async (...asked) => {
          const call = await this.table.acquire(...asked);
          const { client } = call.route;
          Object.assign(client, { pool: this.servers[client.upstream.id]?.pool });
          return call;
        },
        retryAfterSeconds: (...asked) => this.table.retryAfterSeconds(...asked),
      },
      leases: { keep: () => () => undefined },
      settlements: { schedule: () => undefined, settleAfter: () => undefined },
      logger: SILENT,
      attemptsMax: 3,
      failoverMs: 130_000,
    };
  }

  /** Runs `story` with a fleet. The same seed gives the same run. */
  static async run(options: FleetOptions, story: (fleet: Fleet) => Promise<void>): Promise<void> {
    const time = new VirtualTime();
    time.install();
    try {
      await story(new Fleet(time, new Random(options.seed ?? 1), options));
    } finally {
      time.restore();
    }
  }

  get now(): number {
    return this.time.elapsedMs;
  }

  get calls(): number {
    return Object.values(this.servers).reduce((sum, { calls }) => sum + calls.length, 0);
  }

  /** Sends the requests of all accounts for `forMs`. */
  async traffic(forMs: number): Promise<void> {
    const { requestsPerSecond = 100, accounts = 20 } = this.options;
    this.schedule(forMs, requestsPerSecond, () => `account-${this.requests % accounts}`);
    await this.time.run(forMs);
  }

  /** Sends the requests of these accounts for `forMs`. */
  async sendTraffic(requestsPerSecond: Record<string, number>, forMs: number): Promise<void> {
    for (const [account, rate] of Object.entries(requestsPerSecond)) this.schedule(forMs, rate, () => account);
    await this.time.run(forMs);
  }

  /** Sends nothing until no request is in progress. */
  async calm(): Promise<void> {
    await this.time.run(60_000);
  }

  /** Milliseconds from request to first content of each of the account's streams that had content. */
  firstContentMs(accountId: string): number[] {
    return this.firstContents.filter((content) => content.accountId === accountId).map(({ ms }) => ms);
  }

  /** Percentage of the calls between two times that each server got. */
  shares(from: number, to: number): Record<string, number> {
    const counts = Object.values(this.servers).map((server) => [server.id, server.callsBetween(from, to)] as const);
    const all = counts.reduce((sum, [, count]) => sum + count, 0);
    return Object.fromEntries(counts.map(([id, count]) => [id, Math.round((count / all) * 100)]));
  }

  private schedule(forMs: number, requestsPerSecond: number, accountId: () => string): void {
    const end = this.now + forMs;
    let at = this.now;
    for (;;) {
      at += (-Math.log(1 - this.random.next()) * 1_000) / requestsPerSecond;
      if (at >= end) break;
      setTimeout(() => void this.request(accountId()), at - this.now);
    }
  }

  private async request(accountId: string): Promise<void> {
    const at = this.now;
    const isPoison = this.options.poisonShare !== undefined && this.random.chance(this.options.poisonShare);
    const job: GenerateRequest = {
      ticket: {
        holdId: 'hold',
        accountId,
        requestId: 'request',
        outputTokensMax: 100,
        promptTokensEstimate: 10,
        leaseMs: 60_000,
      },
      request: {
        model: 'model',
        turns: [{ role: 'user', parts: [{ type: 'text', text: `${isPoison ? POISON : 'Question'} ${this.requests++}` }] }],
        tools: [],
        output: { kind: 'text' },
        stream: true,
        hints: {},
      },
    };
    this.underWay++;
    const client = new AbortController();
    const { patienceMs, impatientShare } = this.options;
    const isPatient = patienceMs === undefined || (impatientShare !== undefined && !this.random.chance(impatientShare));
    const patience = isPatient ? undefined : setTimeout(() => this.leave(client, at), patienceMs);
    const reader = { signal: client.signal, callerIsThere: async () => true };
    let hasContent = false;
    for await (const batch of streamInference(job, reader, this.dependencies)) {
      clearTimeout(patience);
      if (!hasContent && batch.some(isContent)) {
        hasContent = true;
        this.firstContents.push({ accountId, ms: this.now - at });
      }
      for (const event of batch)
        if (event.type === 'completion-failure' && !isPoison) this.failures.push({ at, accountId, code: event.code });
    }
    this.underWay--;
  }

  private leave(client: AbortController, at: number): void {
    this.left.push(at);
    client.abort(new Error('left'));
  }
}

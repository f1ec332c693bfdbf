import { Registry } from 'prom-client';
import type { GenerateRequest } from '#contracts/inference.js';
import { createLogger } from '#observability/logger.js';
import { ProxyMetrics } from '../../apps/inference-proxy/src/proxy-metrics.js';
import { RouteBook, type RoutingTerms } from '../../apps/inference-proxy/src/routing/route-book.js';
import { upstreamNamed } from '../../apps/inference-proxy/src/routing/test-book.js';
import { type InferenceDependencies, streamInference } from '../../apps/inference-proxy/src/stream-inference.js';
import { Random } from './random.js';
import { POISON, SimulatedServer } from './simulated-server.js';
import { VirtualTime } from './virtual-time.js';

/** The defaults of the service. */
export const TERMS: RoutingTerms = {
  restMs: 1_000,
  restMsMax: 2_000,
  waitMsMax: 60_000,
  retryPercent: 20,
  retryBurst: 1_000,
  queueMax: 100,
  queueWaitMs: 2_000,
};

export interface FleetOptions {
  seed?: number;
  requestsPerSecond?: number;
  terms?: Partial<RoutingTerms>;
  /** Of the requests, the part that breaks every server. */
  poisonShare?: number;
  /** After so long without an answer a client leaves; by default none does. */
  patienceMs?: number;
  servers: Record<string, { weight?: number; concurrencyMax?: number; firstContentMs?: number; priority?: number }>;
}

const SILENT = createLogger('fleet', 'silent');
const TIMEOUTS = { connectMs: 1_000, firstByteMs: 2_000, idleMs: 3_000, totalMs: 20_000 };

/** One proxy in front of a fleet of servers of one model, in virtual time: requests come at random, each from another conversation. */
export class Fleet {
  readonly servers: Record<string, SimulatedServer> = {};
  /** Codes of the failures that clients saw, with the times of their requests; without those who asked for it. */
  readonly failures: { at: number; code: string }[] = [];
  requests = 0;
  /** When they came whose clients have left. */
  readonly left: number[] = [];
  /** Requests that have had no answer yet. */
  underWay = 0;
  private readonly book: RouteBook;
  private readonly dependencies: InferenceDependencies;

  private constructor(
    private readonly time: VirtualTime,
    private readonly random: Random,
    private readonly options: FleetOptions,
  ) {
    this.book = new RouteBook(new ProxyMetrics(new Registry()), { ...TERMS, ...options.terms }, SILENT, random.next);
    for (const [id, { firstContentMs = 100 }] of Object.entries(options.servers))
      this.servers[id] = new SimulatedServer(id, { firstContentMs, streamMs: 200 }, random);
    this.book.apply({
      revision: 1,
      upstreams: Object.keys(options.servers).map((id) => upstreamNamed(id, { timeouts: TIMEOUTS, connectionsMax: 1_000 })),
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
          const call = await this.book.acquire(...asked);
          const { link } = call.route;
          Object.assign(link, { pool: this.servers[link.upstream.id]?.pool });
          return call;
        },
        retryAfterSeconds: (model) => this.book.retryAfterSeconds(model),
      },
      leases: { keep: () => () => undefined },
      settlements: { schedule: () => undefined },
      logger: SILENT,
      attemptsMax: 3,
      failoverMs: 130_000,
    };
  }

  /** Lets `story` happen to a fleet. The same seed gives the same run. */
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

  /** Traffic for so long, and then until nothing is under way any more, if `drain`. */
  async traffic(forMs: number): Promise<void> {
    const { requestsPerSecond = 100 } = this.options;
    const end = this.now + forMs;
    let at = this.now;
    for (;;) {
      at += (-Math.log(1 - this.random.next()) * 1_000) / requestsPerSecond;
      if (at >= end) break;
      setTimeout(() => void this.request(), at - this.now);
    }
    await this.time.run(forMs);
  }

  /** Until nothing is under way any more. */
  async calm(): Promise<void> {
    await this.time.run(60_000);
  }

  /** Of the calls in this time, the part that each server got, in percent. */
  shares(from: number, to: number): Record<string, number> {
    const counts = Object.values(this.servers).map((server) => [server.id, server.callsBetween(from, to)] as const);
    const all = counts.reduce((sum, [, count]) => sum + count, 0);
    return Object.fromEntries(counts.map(([id, count]) => [id, Math.round((count / all) * 100)]));
  }

  private async request(): Promise<void> {
    const at = this.now;
    const isPoison = this.options.poisonShare !== undefined && this.random.chance(this.options.poisonShare);
    const job: GenerateRequest = {
      ticket: {
        holdId: 'hold',
        accountId: 'account',
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
    const { patienceMs } = this.options;
    const patience = patienceMs === undefined ? undefined : setTimeout(() => this.leave(client, at), patienceMs);
    const reader = { signal: client.signal, callerIsThere: async () => true };
    for await (const batch of streamInference(job, reader, this.dependencies)) {
      clearTimeout(patience);
      for (const event of batch) if (event.type === 'completion-failure' && !isPoison) this.failures.push({ at, code: event.code });
    }
    this.underWay--;
  }

  private leave(client: AbortController, at: number): void {
    this.left.push(at);
    client.abort(new Error('left'));
  }
}

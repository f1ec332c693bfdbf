import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { stringify } from 'yaml';
import { catalogApply } from '#contracts/catalog.js';
import { longOr } from '#testing/long-run.js';
import { createTenant, untilOffered } from '#testing/tenant.js';
import { FaultStack } from '../e2e/fault-stack.js';
import { SimulatorProcess } from '../e2e/simulator-process.js';
import type { Attack, Outcomes } from './attacker.js';
import { AttackerProcess } from './attacker-process.js';
import { PeakMemory, STATED_MEMORY } from './peak-memory.js';
import { type Observation, Victim } from './victim.js';

/** The model that the victim uses, on an upstream with 256 sockets. */
export const SHARED_MODEL = 'shared';
/** A model on an upstream of its own, so that admitted attacks do not load the victim's upstream. */
export const ATTACKED_MODEL = 'attacked';

/** An attack without the port and keys, which the stack adds. */
export type AttackPlan = Attack extends infer Each ? (Each extends Attack ? Omit<Each, 'port'> : never) : never;

/** An attack, and the observations of the victim before and during it. */
export interface Round {
  alone: Observation;
  attacked: Observation;
  outcomes: Outcomes[];
  peakBytes: Partial<Record<string, number>>;
  /** Database transactions beyond those of the victim's own requests. */
  extraTransactions: number;
}

const ALONE_MS = 2_500;
/** The long run compares the victim's times, so it measures them alone before each round. */
const MEASURES_EACH_ROUND = longOr(false, true);
const CALM_MS = 60_000;

/** A whole system with default settings, one victim, and an attacker in a process of its own. */
export class AbuseStack {
  private usual: { alone: Observation; transactionsPerRequest: number } | undefined;

  private constructor(
    readonly stack: FaultStack,
    readonly attacker: AttackerProcess,
    private readonly upstreams: SimulatorProcess[],
    private readonly database: pg.Client,
  ) {}

  static async start(): Promise<AbuseStack> {
    const [stack, attacker, ...upstreams] = await Promise.all([
      FaultStack.start({
        env: { LOG_LEVEL: 'info' },
        services: ['gateway', 'inference-proxy', 'billing', 'catalog', 'panel'],
        ownPostgres: true,
      }),
      AttackerProcess.start(),
      SimulatorProcess.start(),
      SimulatorProcess.start(),
    ]);
    const [shared, attacked] = upstreams.map(({ baseUrl }) => baseUrl);
    await stack.administrator.request(catalogApply, { yaml: renderCatalog({ [SHARED_MODEL]: shared, [ATTACKED_MODEL]: attacked }) });
    await untilOffered(stack.facts.gatewayUrl, stack.tenant.apiKey, [SHARED_MODEL, ATTACKED_MODEL]);
    const database = new pg.Client({ connectionString: stack.facts.databaseUrl });
    await database.connect();
    return new AbuseStack(stack, attacker, upstreams, database);
  }

  /** Key of a new account with `usd` and a project with `limits`. */
  async createKey(usd: string, limits = { requestsPerMinuteMax: 600, concurrencyMax: 100 }): Promise<string> {
    const { apiKey } = await createTenant(this.stack.administrator, { usd, ...limits });
    return apiKey;
  }

  /** The status of an ordinary request. */
  async readStatus(apiKey: string): Promise<number> {
    const response = await fetch(`${this.stack.facts.gatewayUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: ATTACKED_MODEL, messages: [{ role: 'user', content: 'Hello' }] }),
    });
    await response.text();
    return response.status;
  }

  /** Observes the victim first alone, then during the attacks. */
  async round(victim: Victim, plans: AttackPlan[]): Promise<Round> {
    await this.calm(victim);
    if (MEASURES_EACH_ROUND || this.usual === undefined) this.usual = await this.observeAlone(victim);
    const { alone, transactionsPerRequest } = this.usual;
    const before = await this.transactions();
    const memory = await PeakMemory.watch(this.stack.facts);
    const attacking = this.attacker.attack(plans.map((plan) => ({ ...plan, port: this.port }) as Attack));
    const attacked = await victim.observe(attacking);
    const peakBytes = await memory.bytes();
    const extraTransactions = Math.round((await this.transactions()) - before - transactionsPerRequest * attacked.requests);
    return { alone, attacked, outcomes: await attacking, peakBytes, extraTransactions };
  }

  private async observeAlone(victim: Victim): Promise<NonNullable<AbuseStack['usual']>> {
    const before = await this.transactions();
    const alone = await victim.observe(delay(ALONE_MS));
    return { alone, transactionsPerRequest: ((await this.transactions()) - before) / Math.max(alone.requests, 1) };
  }

  async stop(): Promise<void> {
    await this.database.end();
    await Promise.all([this.attacker.stop(), this.stack.stop(), ...this.upstreams.map((upstream) => upstream.kill())]);
  }

  /** Resolves when earlier attacks are over: the victim is served, and the gateway has no request in progress. */
  private async calm(victim: Victim): Promise<void> {
    await victim.untilServed(CALM_MS);
    for (const deadline = performance.now() + CALM_MS; performance.now() < deadline; await delay(100)) {
      const metrics = await (await fetch(`${this.stack.facts.opsUrls.gateway}/metrics`)).text();
      if (/^tollgate_gateway_requests_in_flight 0$/m.test(metrics)) return;
    }
    throw new Error(`the gateway still works on an attack ${CALM_MS} ms after its end`);
  }

  /** Committed transactions so far. Each connection to Postgres reports its own at most once a second. */
  private async transactions(): Promise<number> {
    const { rows } = await this.database.query('SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()');
    return Number(rows[0]?.xact_commit);
  }

  private get port(): number {
    return Number(new URL(this.stack.facts.gatewayUrl).port);
  }
}

/** Programs with more resident memory than stated. */
export function overStatedMemory({ peakBytes }: Round): string[] {
  return Object.entries(STATED_MEMORY)
    .filter(([name, bytesMax]) => (peakBytes[name] ?? 0) > bytesMax)
    .map(([name]) => `${name}: ${megabytes(peakBytes[name])} MB`);
}

/** Renders a round in one line. */
export function renderRound({ alone, attacked, outcomes, peakBytes, extraTransactions }: Round): string {
  const seen = ({ p50Ms, p99Ms, requests, failed }: Observation): string =>
    `p50 ${p50Ms.toFixed()} p99 ${p99Ms.toFixed()} ms, ${requests} served, ${JSON.stringify(failed)} failed`;
  const memory = Object.entries(peakBytes).map(([name, bytes]) => `${name} ${megabytes(bytes)}`);
  return `alone ${seen(alone)}; attacked ${seen(attacked)}; attacker ${JSON.stringify(outcomes)}; ${extraTransactions} transactions; MB: ${memory.join(', ')}`;
}

function megabytes(bytes = 0): number {
  return Math.round(bytes / 1e6);
}

function renderCatalog(baseUrls: Record<string, string | undefined>): string {
  const upstreams = Object.entries(baseUrls).map(([id, baseUrl]) => ({ id, kind: 'openai-chat', baseUrl, allowPrivateNetwork: true }));
  return stringify({
    upstreams,
    models: upstreams.map(({ id }) => ({
      id,
      ownedBy: 'tollgate',
      contextTokens: 10_000_000,
      maxOutputTokens: 8_192,
      price: { inputUsdPerMTok: '1', cachedInputUsdPerMTok: '0.1', outputUsdPerMTok: '3' },
      routes: [{ upstream: id, model: 'sim-fast' }],
    })),
  });
}

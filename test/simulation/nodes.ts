import { childKeyResolve } from '#contracts/billing/child-keys.js';
import type { HoldRenewal, ReserveOutcome, ReserveRequest, SettleOutcome } from '#contracts/billing/holds.js';
import { holdApply, holdRenew, holdSettle } from '#contracts/billing/holds.js';
import { keyFind, keyResolve, type ResolvedKey } from '#contracts/billing/keys.js';
import { generate, type Ticket } from '#contracts/inference.js';
import { itemRelease, itemRenew, itemReserve, itemSettle } from '#contracts/items.js';
import { ServiceError } from '#contracts/service-error.js';
import type { PgConnection } from '#database/pg-connection.js';
import type { CallContext } from '#messaging/messaging.js';
import type { Price } from '#money/price.js';
import { renderPriceText } from '#money/price-plan.js';
import type { Logger } from '#observability/logger.js';
import { TEST_MODEL } from '#testing/fake-services.js';
import type { Settle } from '../../apps/billing/src/batch/batch.js';
import { Lane } from '../../apps/billing/src/batch/lane.js';
import { ApiKeys } from '../../apps/gateway/src/clients/api-keys.js';
import { BillingClient } from '../../apps/gateway/src/clients/billing.js';
import { BillingReplicas } from '../../apps/gateway/src/clients/billing-replicas.js';
import type { CatalogClient, Model } from '../../apps/gateway/src/clients/catalog.js';
import { InferenceClient } from '../../apps/gateway/src/clients/inference.js';
import { ServiceHolds } from '../../apps/gateway/src/clients/service-holds.js';
import { ItemsController } from '../../apps/gateway/src/items/items.controller.js';
import type { InferenceServices } from '../../apps/gateway/src/pipeline/inference-call.js';
import { SettleOnEnd } from '../../apps/gateway/src/pipeline/settle-on-end.js';
import { type InferenceDependencies, streamInference } from '../../apps/inference-proxy/src/calls/stream-inference.js';
import { LeaseKeeper } from '../../apps/inference-proxy/src/leases/lease-keeper.js';
import { SettleForGateway } from '../../apps/inference-proxy/src/leases/settle-for-gateway.js';
import type { RouteCall } from '../../apps/inference-proxy/src/routing/route-state.js';
import { ADAPTERS } from '../../apps/inference-proxy/src/upstreams/adapters.js';
import { CAPABILITIES } from '../../apps/inference-proxy/test/conformance.js';
import { ITEM, SERVICE } from './item.js';
import { type Network, Process } from './network.js';
import type { SimulatedDatabase } from './simulated-database.js';
import { HIDDEN_TOKENS, hashNumber, type Script, simulatedPool, type UpstreamObserver } from './simulated-upstream.js';

const SILENT = { info() {}, warn() {}, error() {}, debug() {} } as unknown as Logger;
const LANES = 2;
const REAPER_MS = 1_000;
const LATE_SETTLEMENT_MS = 1_000;

/** A list price with a step of each kind, tiers, prices of writes and one of the request. */
const LIST_PRICE: Price = {
  ...{ inputPicoUsd: 150_000n, cachedInputPicoUsd: 15_000n, outputPicoUsd: 600_000n, requestPicoUsd: 700_000n },
  ...{ cacheWritePicoUsd: 187_500n, cacheWrite1hPicoUsd: 300_000n },
  steps: [
    { above: 6, reprices: 'excess', inputPicoUsd: 250_000n, cachedInputPicoUsd: 25_000n, cacheWritePicoUsd: 280_000n },
    { above: 15, reprices: 'whole', inputPicoUsd: 100_000n, cachedInputPicoUsd: 10_000n, outputPicoUsd: 500_000n },
  ],
  tiers: [{ tier: 'flex', inputPicoUsd: 75_000n, cachedInputPicoUsd: 7_500n, outputPicoUsd: 300_000n }],
};

export const MODEL = atPrice(TEST_MODEL.price.version, LIST_PRICE);

/** Returns the model of the simulation at a version of its price. */
export function atPrice(version: number, price: Price): Model {
  return { ...TEST_MODEL, price, pinnedPrice: { version, ...renderPriceText(price) } };
}

/** Outcome of a renewal: the hold is open, and its key and child key have not ended. */
interface Renewal {
  isOpen: boolean;
  mayCall: boolean;
}

export type Settler = 'gateway' | 'proxy' | 'reaper';

/** Called for events that only billing knows. */
interface BillingObserver {
  beforeReserve(requestId: string): void;
  held(request: ReserveRequest): void;
  reserveCommitted(requestId: string): void;
  settleCommitted(holdId: string): void;
  settleAnswered(holdId: string): void;
  /** The hold was settled, in time or late. */
  settled(settle: Settle, by: Settler): void;
}

/** The keys of a run. Some are replaced and end. */
interface Keys {
  /** Answers a look-up. Throws for a key that has ended. */
  resolve(keyDigest: string): ResolvedKey;
  find(keyId: string): ResolvedKey;
  resolveChild(signed: string, proof: string): ResolvedKey;
  /** Time at which a key, or a child key of it, ends. Infinity: never. */
  findEnd(keyId: string | undefined, child?: string): number;
}

/** A billing service with its own lanes and reaper on the shared database. */
export class BillingNode {
  readonly process: Process;
  private readonly lanes: Lane<Settle | ReserveRequest, SettleOutcome | ReserveOutcome>[];
  private readonly renewals: Lane<HoldRenewal, Renewal>;
  private readonly reaper: NodeJS.Timeout;
  private interrupted = true;
  private readonly fromProxies = new WeakSet<Settle>();

  constructor(
    name: string,
    network: Network,
    private readonly database: SimulatedDatabase,
    private readonly readings: Map<string, number>,
    private readonly keys: Keys,
    private readonly observer: BillingObserver,
    private readonly isLeader: () => boolean,
  ) {
    this.process = new Process(name, network);
    const connect = async (): Promise<PgConnection> => {
      await database.connect();
      return { on: () => undefined, end: async () => undefined } as unknown as PgConnection;
    };
    const options = { connect, batchMax: 256, queueMax: 4_096, deadlineMs: 5_000, logger: SILENT };
    this.lanes = Array.from({ length: LANES }, () => new Lane({ ...options, work: (_connection, items) => this.apply(items) }));
    this.renewals = new Lane({ ...options, work: (_connection, items) => this.renew(items) });
    this.serve();
    this.reaper = setInterval(() => void this.reap(), REAPER_MS);
  }

  kill(): void {
    clearInterval(this.reaper);
    this.process.kill();
  }

  private serve(): void {
    this.process.serve(holdApply, async ({ settles, reserves }) => {
      const reply = {
        settles: await Promise.all(settles.map((settle) => this.push(settle) as Promise<SettleOutcome>)),
        reserves: await Promise.all(reserves.map((reserve) => this.push(reserve) as Promise<ReserveOutcome>)),
      };
      for (const { holdId } of settles) this.observer.settleAnswered(holdId);
      return reply;
    });
    this.process.serve(holdSettle, (settle) => {
      this.fromProxies.add(settle);
      return this.push(settle) as Promise<SettleOutcome>;
    });
    this.process.serve(holdRenew, async ({ renewals, ended = [] }) => {
      const { model, times } = this.database;
      const [unsettled, ...open] = await Promise.all([
        this.commit(() => ended.filter((holdId) => model.holds.has(holdId) || model.reaped.has(holdId))),
        ...renewals.map((renewal) => this.renewals.push(renewal)),
      ]);
      const select = (isWanted: (renewal: Renewal | undefined) => boolean | undefined): string[] =>
        renewals.filter((_, position) => isWanted(open[position])).map(({ holdId }) => holdId);
      const [renewed, stop] = [select((one) => one?.isOpen), select((one) => one?.isOpen && !one.mayCall)];
      return { renewed, stop, unsettled, leaseMs: times.leaseMs };
    });
    this.process.serve(keyResolve, ({ keyDigest }) => this.answer(() => this.keys.resolve(keyDigest)));
    this.process.serve(keyFind, ({ keyId }) => this.answer(() => this.keys.find(keyId)));
    this.process.serve(childKeyResolve, ({ signed, proof }) => this.answer(() => this.keys.resolveChild(signed, proof)));
  }

  private answer(resolve: () => ResolvedKey): Promise<ResolvedKey> {
    return this.commit(resolve).catch((error: unknown) => {
      throw error instanceof ServiceError ? error : new ServiceError('unavailable', 'The billing database cannot be reached.');
    });
  }

  private push(item: Settle | ReserveRequest): Promise<SettleOutcome | ReserveOutcome> {
    const lane = this.lanes[item.accountId.charCodeAt(item.accountId.length - 1) % LANES];
    return (lane as (typeof this.lanes)[number]).push(item);
  }

  private apply(items: readonly (Settle | ReserveRequest)[]): Promise<(SettleOutcome | ReserveOutcome)[]> {
    const settles = items.filter((item): item is Settle => !('amountPicoUsd' in item));
    const reserves = items.filter((item): item is ReserveRequest => 'amountPicoUsd' in item);
    const work = (): (SettleOutcome | ReserveOutcome)[] => {
      const outcomes = this.database.model.apply({ settles, reserves }, Date.now());
      outcomes.settles.forEach((outcome, position) => {
        const settle = settles[position] as Settle;
        if (outcome.status === 'settled') this.observer.settled(settle, this.makeSettler(settle));
      });
      outcomes.reserves.forEach((outcome, position) => {
        if (outcome.status === 'held') this.observer.held(reserves[position] as ReserveRequest);
      });
      const next = { settles: outcomes.settles.values(), reserves: outcomes.reserves.values() };
      return items.map((item) => ('amountPicoUsd' in item ? next.reserves.next().value : next.settles.next().value) as SettleOutcome);
    };
    const before = (): void => {
      for (const { requestId } of reserves) this.observer.beforeReserve(requestId);
    };
    const after = (): void => {
      for (const { requestId } of reserves) this.observer.reserveCommitted(requestId);
      for (const { holdId } of settles) this.observer.settleCommitted(holdId);
    };
    return this.database.commit(this.process, work, before, after);
  }

  private makeSettler(settle: Settle): Settler {
    if (settle.reason === 'lease-expired') return 'reaper';
    return this.fromProxies.has(settle) ? 'proxy' : 'gateway';
  }

  /** Extends every lease. */
  private renew(renewals: readonly HoldRenewal[]): Promise<Renewal[]> {
    return this.commit(() => {
      const { holds } = this.database.model;
      const mayCall = renewals.map(({ holdId }) => {
        const hold = holds.get(holdId);
        return this.keys.findEnd(hold?.keyId, hold?.attribution.child) > Date.now();
      });
      return this.database.renew(renewals, this.readings).map((isOpen, position) => ({ isOpen, mayCall: mayCall[position] === true }));
    });
  }

  private commit<Result>(work: () => Result): Promise<Result> {
    return this.database.commit(
      this.process,
      work,
      () => undefined,
      () => undefined,
    );
  }

  /** Like `Reaper`, extends all leases once after a time in which they could not be renewed. */
  private async reap(): Promise<void> {
    if (!this.database.isUp || !this.process.connected) {
      this.interrupted = true;
      return;
    }
    if (!this.isLeader()) return;
    const { model, times } = this.database;
    const now = Date.now();
    if (this.interrupted) {
      this.interrupted = false;
      for (const hold of model.holds.values()) hold.leaseUntil = Math.max(hold.leaseUntil, now + times.leaseMs);
      return;
    }
    const lost = [...model.holds].filter(([, hold]) => hold.leaseUntil + times.reaperGraceMs < now);
    await Promise.allSettled(lost.map(([holdId, { accountId }]) => this.push({ holdId, accountId, reason: 'lease-expired' })));
  }
}

/** An inference-proxy in front of one upstream. */
export class ProxyNode {
  readonly process: Process;
  private readonly leases: LeaseKeeper;

  constructor(
    name: string,
    network: Network,
    scripts: readonly Script[],
    observer: Omit<UpstreamObserver, 'isHeard'>,
    onOpen: (ticket: Ticket, node: ProxyNode) => void,
  ) {
    this.process = new Process(name, network);
    this.leases = new LeaseKeeper(this.process, SILENT);
    const pool = simulatedPool(scripts, {
      dispatched: (index) => observer.dispatched(index),
      answered: (index) => observer.answered(index),
      produced: (index, tokens) => observer.produced(index, tokens),
      finished: (index) => observer.finished(index),
      isHeard: () => this.process.isAlive,
    });
    const dependencies: InferenceDependencies = {
      routes: {
        acquire: ({ request }) => callOn(pool, scripts[hashNumber(JSON.stringify(request.turns))] as Script),
        retryAfterSeconds: () => 1,
      },
      leases: this.leases,
      settlements: new SettleForGateway(this.process, SILENT, LATE_SETTLEMENT_MS),
      logger: SILENT,
      attemptsMax: 2,
      failoverMs: 60_000,
    };
    this.process.serveStream(generate, (job, caller) => {
      onOpen(job.ticket, this);
      return streamInference(job, caller, dependencies);
    });
  }

  kill(): void {
    this.leases.close();
    this.process.kill();
  }
}

function callOn(pool: unknown, { hides: hiddenReasoning, totalMs = 20_000 }: Script): RouteCall {
  const timeouts = { connectMs: 1_000, firstByteMs: 20_000, idleMs: 3_000, totalMs, readOnMs: 3_000 };
  const capabilities = { ...CAPABILITIES, hiddenReasoning, hiddenTokensFloor: HIDDEN_TOKENS };
  const upstream = { id: 'simulated', kind: 'openai-chat', apiKeyEnv: null, capabilities, timeouts };
  const client = { upstream, adapter: ADAPTERS['openai-chat'], pool, basePath: '/v1/', refusal: undefined };
  return {
    route: { client, model: 'model' },
    client,
    capabilities,
    model: 'model',
    oddities: new Map(),
    onContent: () => undefined,
    end: () => undefined,
  } as unknown as RouteCall;
}

/** A gateway without HTTP, from the key check on. */
export class GatewayNode {
  readonly process: Process;
  readonly keys: ApiKeys;
  readonly services: InferenceServices;

  /** `model` is the model at the price that it knows. */
  constructor(
    name: string,
    network: Network,
    public model: Model,
  ) {
    this.process = new Process(name, network);
    this.keys = new ApiKeys(this.process, 200, 1_000);
    const billing = new BillingClient(this.process, new BillingReplicas(this.process), 1_000);
    const catalog = { loaded: true, model: () => this.model, item: () => ITEM } as unknown as CatalogClient;
    this.serveItems(new ItemsController(catalog, new ServiceHolds(this.process, this.keys, billing)));
    this.services = {
      billing,
      catalog,
      inference: new InferenceClient(this.process),
      policies: { apply: () => Promise.reject(new Error('no project of the simulation has a policy')) },
      settlements: new SettleOnEnd(billing, SILENT, { settleAnswerMs: 1_500, settlementsPendingMax: 10_000, settleFlushMs: 0 }),
    };
  }

  private serveItems(items: ItemsController): void {
    const context = { caller: { via: SERVICE } } as CallContext;
    this.process.serve(itemReserve, (request) => items.reserve(request, context).catch(unwrap));
    this.process.serve(itemRenew, (request) => items.renew(request, context).catch(unwrap));
    this.process.serve(itemSettle, (request) => items.settle(request, context).catch(unwrap));
    this.process.serve(itemRelease, (request) => items.release(request, context).catch(unwrap));
  }

  kill(): void {
    this.process.kill();
  }
}

/** Throws the error that Nest has wrapped for its transport. */
function unwrap(error: Error & { getError?: () => Error }): never {
  throw error.getError?.() ?? error;
}

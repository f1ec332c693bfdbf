import type {
  CatalogChanges,
  ModelPrices,
  Upstream,
  UpstreamCapabilities,
  UpstreamHealthCheck,
  UpstreamTimeouts,
  UpstreamTls,
} from '#contracts/catalog.js';
import { ServiceError } from '#contracts/service-error.js';
import type { UpstreamAuth } from '#contracts/upstream-auth.js';
import { CAPABILITY_DEFAULTS, TIMEOUT_DEFAULTS } from '#contracts/upstream-defaults.js';
import { type AuditedChange, type Author, audited } from '#database/audit-journal.js';
import { Prisma, type PrismaClient } from '#database/prisma-client.js';
import type { WantedCatalog } from '../file/parse-catalog-file.js';
import { setPrice } from '../file/set-price.js';
import type { CatalogState, StoredModel, StoredPricePlan, StoredUpstream } from './catalog-state.js';
import { describeChanges } from './describe-changes.js';
import { type DuePrice, duePrice } from './due-price.js';
import { lockState } from './lock-state.js';
import { type Changes, isEmpty, planChanges } from './plan-changes.js';
import { toPrice } from './price-columns.js';
import { priceVersion } from './price-version.js';
import { WAITING } from './waiting.js';
import { type Database, writeChanges } from './write-changes.js';

export interface ApplyOutcome {
  revision: number;
  /** Null when the catalog was already equal. */
  changes: CatalogChanges | null;
}

const TRANSACTION_LIMITS = { maxWait: 5_000, timeout: 30_000 };

/** The sender of an apply, and the file that it sends. */
export interface ApplyOrigin {
  author: Author;
  fileName: string;
  /** Text of the file. */
  yaml: string;
  /** Revision that the sender changes. Absent: any. */
  expectedRevision?: number;
  /** Reason of an apply that no caller asked for. */
  reason?: string;
}

export interface CatalogVersion {
  revision: number;
  /** Ids of the prices that wait, soonest first. */
  scheduled: string;
}

/** The tables of the catalog. Every method is one transaction. */
export class CatalogStore {
  constructor(private readonly prisma: PrismaClient) {}

  /** Returns the revision, and a text that changes when a price is scheduled, cancelled or applied. */
  async readVersion(): Promise<CatalogVersion> {
    const rows = await this.prisma.$queryRaw<CatalogVersion[]>`SELECT revision, coalesce((
        SELECT string_agg(id::text, ' ' ORDER BY effective_at, id) FROM catalog.scheduled_price WHERE revision IS NULL AND cancelled_at IS NULL
      ), '') AS scheduled FROM catalog.state WHERE id = 1`;
    if (rows[0] === undefined) throw new TypeError('the catalog has no state');
    return rows[0];
  }

  /** Reads all tables in one snapshot. */
  read(): Promise<CatalogState> {
    return this.prisma.$transaction(readState, { ...TRANSACTION_LIMITS, isolationLevel: Prisma.TransactionIsolationLevel.RepeatableRead });
  }

  /**
   * Makes the stored catalog equal to `wanted`. Idempotent; applies of several replicas are serial.
   * @throws {ServiceError} `conflict` when this would change another revision than the expected one.
   */
  apply(wanted: WantedCatalog, origin: ApplyOrigin): Promise<ApplyOutcome> {
    return audited(this.prisma, 'catalog', origin.author, async (tx) => {
      const { revision } = await lockState(tx);
      const result = await applyWanted(tx, wanted, origin);
      return { result, change: describeChange(revision, result, origin) };
    });
  }

  /**
   * Applies the start file unless the last start applied the same one: an operator may have applied another since, and a restart must not
   * change a price.
   */
  applyAtStart(wanted: WantedCatalog, digest: string, origin: ApplyOrigin): Promise<ApplyOutcome & { known: boolean }> {
    return audited(this.prisma, 'catalog', origin.author, async (tx) => {
      const { revision, startFileDigest } = await lockState(tx);
      const known = startFileDigest === digest;
      const outcome = known ? { revision, changes: null } : await applyWanted(tx, wanted, origin);
      if (!known) await tx.catalogState.update({ where: { id: 1 }, data: { startFileDigest: digest } });
      return { result: { ...outcome, known }, change: describeChange(revision, outcome, origin) };
    });
  }

  /**
   * Makes the scheduled price that is due longest a revision. Resolves to null when none is due. Every replica may call it at once: the
   * price is marked in the transaction that applies it.
   */
  async applyDuePrice(author: Author): Promise<ApplyOutcome | null> {
    // Replicas look every few seconds. One that takes the lock and loses its network would keep it until the server notices.
    if ((await duePrice(this.prisma)) === undefined) return null;
    return audited(this.prisma, 'catalog', author, async (tx) => {
      const { revision } = await lockState(tx);
      const due = await duePrice(tx);
      if (due === undefined) return { result: null, change: null };
      const result = await applyPrice(tx, due);
      return { result, change: describePriceChange(revision, result, due) };
    });
  }
}

/** Names the changed entries and fields. Of their values it has prices alone. */
function describeChange(before: number, { revision, changes }: ApplyOutcome, { fileName, reason }: ApplyOrigin): AuditedChange | null {
  if (changes === null) return null;
  const change = { action: 'catalog.apply', accountId: null, target: `revision/${revision}`, reason: reason ?? null };
  return { ...change, before: { revision: before }, after: { revision, fileName, ...changes } };
}

/** A price that the model has already makes no revision; its row is about the scheduled price. */
function describePriceChange(before: number, { revision, changes }: ApplyOutcome, { id, reason }: DuePrice): AuditedChange {
  const change = { action: 'price.apply', accountId: null, reason: reason ?? 'scheduled price', before: { revision: before } };
  if (changes === null) return { ...change, target: `price/${id}`, after: { revision } };
  return { ...change, target: `revision/${revision}`, after: { revision, scheduledPriceId: id, ...changes } };
}

async function applyWanted(tx: Database, wanted: WantedCatalog, { yaml, expectedRevision }: ApplyOrigin): Promise<ApplyOutcome> {
  const current = await readState(tx);
  const changes = planChanges(current, wanted, Math.floor(Date.now() / 1000));
  // A repeated apply whose first reply was lost finds nothing to change, and is no conflict.
  if (expectedRevision !== undefined && expectedRevision !== current.revision && !isEmpty(changes)) {
    throw new ServiceError(
      'conflict',
      `The catalog has revision ${current.revision}, and the text was made from revision ${expectedRevision}. Compare it again.`,
      'expectedRevision',
    );
  }
  return writeRevision(tx, current, changes, yaml);
}

async function applyPrice(tx: Database, { id, modelId, price }: DuePrice): Promise<ApplyOutcome> {
  const current = await readState(tx);
  const before = current.models.find((model) => model.id === modelId)?.price;
  const next = priceVersion(before, price);
  const prices = next.version === before?.version ? [] : [{ modelId, ...next }];
  const text = await tx.revisionText.findUnique({ where: { revision: current.revision } });
  const yaml = text && setPrice(text.yaml, modelId, price);
  const outcome = await writeRevision(tx, current, { upstreams: [], models: [], prices, routes: [], pricePlans: [], services: [] }, yaml);
  await tx.scheduledPrice.update({ where: { id }, data: { revision: outcome.revision } });
  return outcome;
}

/** Writes the changes as the next revision, if there are any, and the text that has them, if it is known. */
async function writeRevision(tx: Database, current: CatalogState, changes: Changes, yaml: string | null): Promise<ApplyOutcome> {
  const isChanged = !isEmpty(changes);
  const revision = current.revision + (isChanged ? 1 : 0);
  if (isChanged) {
    await writeChanges(tx, changes);
    await tx.catalogState.update({ where: { id: 1 }, data: { revision, changedAt: new Date() } });
  }
  if (yaml !== null) await tx.revisionText.upsert({ where: { revision }, create: { revision, yaml }, update: { yaml } });
  return { revision, changes: isChanged ? describeChanges(current, changes) : null };
}

async function readState(tx: Database): Promise<CatalogState> {
  const state = await tx.catalogState.findUniqueOrThrow({ where: { id: 1 } });
  const upstreams = await tx.upstream.findMany({ orderBy: [{ position: 'asc' }, { id: 'asc' }] });
  const models = await tx.catalogModel.findMany({
    orderBy: [{ position: 'asc' }, { id: 'asc' }],
    include: {
      prices: { orderBy: { version: 'desc' }, take: 1 },
      routes: { orderBy: [{ position: 'asc' }, { upstreamId: 'asc' }, { upstreamModel: 'asc' }] },
    },
  });
  const costs = await tx.routeCost.findMany({ distinct: ['modelId', 'upstreamId'], orderBy: { fromDay: 'desc' } });
  const costsByModel = Map.groupBy(costs, ({ modelId }) => modelId);
  const plans = await tx.pricePlan.findMany({ orderBy: [{ position: 'asc' }, { id: 'asc' }] });
  const services = await tx.catalogService.findMany({ orderBy: [{ position: 'asc' }, { id: 'asc' }] });
  const scheduled = await tx.scheduledPrice.findMany({ where: WAITING, orderBy: [{ effectiveAt: 'asc' }, { id: 'asc' }] });
  return {
    revision: state.revision,
    scheduledPrices: scheduled.map(({ id, modelId, effectiveAt, ...price }) => ({
      id,
      modelId,
      price: toPrice(price),
      effectiveAt,
    })),
    upstreams: upstreams.map(storedUpstream),
    models: models.map((model) => storedModel(model, costsByModel.get(model.id) ?? [])),
    pricePlans: plans.map(storedPlan),
    services: services.map(({ holdMax, dayMax, ...service }) => ({
      ...service,
      holdMaxPicoUsd: holdMax?.toFixed() ?? null,
      dayMaxPicoUsd: dayMax?.toFixed() ?? null,
    })),
  };
}

type UpstreamRecord = Prisma.UpstreamGetPayload<object>;
type RouteCost = Prisma.RouteCostGetPayload<object>;
type ModelRecord = Prisma.CatalogModelGetPayload<{ include: { prices: true; routes: true } }>;

function storedUpstream(row: UpstreamRecord): StoredUpstream {
  return {
    ...row,
    kind: row.kind as StoredUpstream['kind'],
    // Checked when it was written; newer fields get their default.
    capabilities: { ...CAPABILITY_DEFAULTS, ...(row.capabilities as Partial<UpstreamCapabilities>) },
    timeouts: { ...TIMEOUT_DEFAULTS, ...(row.timeouts as Partial<UpstreamTimeouts>) },
    auth: row.auth as UpstreamAuth | null,
    tls: row.tls as UpstreamTls | null,
    query: row.query as NonNullable<Upstream['query']> | null,
    headers: row.headers as NonNullable<Upstream['headers']> | null,
    body: row.body as NonNullable<Upstream['body']> | null,
    healthCheck: row.healthCheck as unknown as UpstreamHealthCheck | null,
  };
}

function storedModel({ prices, routes, created, input, ...row }: ModelRecord, costs: readonly RouteCost[]): StoredModel {
  const price = prices[0];
  if (price === undefined) throw new Error(`model ${row.id} has no price`);
  return {
    ...row,
    created: Number(created),
    input: input as StoredModel['input'],
    price: { version: price.version, ...toPrice(price) },
    routes: routes.map(({ upstreamId, upstreamModel, weight, priority, concurrencyMax, capabilities, enabled, position }) => ({
      upstream: upstreamId,
      model: upstreamModel,
      weight,
      priority,
      concurrencyMax,
      capabilities: capabilities as Partial<UpstreamCapabilities> | null,
      cost: (costs.find((cost) => cost.upstreamId === upstreamId)?.price ?? null) as ModelPrices | null,
      enabled,
      position,
    })),
  };
}

function storedPlan({ discountPercent, models, ...row }: Prisma.PricePlanGetPayload<object>): StoredPricePlan {
  return { ...row, discountPercent: discountPercent.toString(), models: models as unknown as StoredPricePlan['models'] };
}

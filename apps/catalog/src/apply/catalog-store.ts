import type { CatalogChanges, UpstreamHealthCheck, UpstreamTls } from '#contracts/catalog.js';
import { type AuditedChange, type Author, audited } from '#database/audit-journal.js';
import { Prisma, type PrismaClient } from '#database/prisma-client.js';
import { CapabilitiesEntry, TimeoutsEntry } from '../file/catalog-file.schema.js';
import type { WantedCatalog } from '../file/parse-catalog-file.js';
import type { CatalogState, StoredModel, StoredUpstream } from './catalog-state.js';
import { describeChanges } from './describe-changes.js';
import { isEmpty, planChanges } from './plan-changes.js';
import { type Database, writeChanges } from './write-changes.js';

export interface ApplyOutcome {
  revision: number;
  /** Null when the catalog was already equal. */
  changes: CatalogChanges | null;
}

const TRANSACTION_LIMITS = { maxWait: 5_000, timeout: 30_000 };

/** The sender of an apply, and the name of the file for the audit journal. */
export interface ApplyOrigin {
  author: Author;
  fileName: string;
  /** Reason of an apply that no caller asked for. */
  reason?: string;
}

/** The tables of the catalog. Every method is one transaction. */
export class CatalogStore {
  constructor(private readonly prisma: PrismaClient) {}

  async readRevision(): Promise<number> {
    return (await this.prisma.catalogState.findUniqueOrThrow({ where: { id: 1 } })).revision;
  }

  /** Reads all tables in one snapshot. */
  read(): Promise<CatalogState> {
    return this.prisma.$transaction(readState, { ...TRANSACTION_LIMITS, isolationLevel: Prisma.TransactionIsolationLevel.RepeatableRead });
  }

  /** Makes the stored catalog equal to `wanted`. Idempotent; applies of several replicas are serial. */
  apply(wanted: WantedCatalog, origin: ApplyOrigin): Promise<ApplyOutcome> {
    return this.inTurn(origin, (tx, revision) => applyWanted(tx, revision, wanted));
  }

  /**
   * Applies the start file unless the last start applied the same one: an operator may have applied another since, and a restart must not
   * change a price.
   */
  applyAtStart(wanted: WantedCatalog, digest: string, origin: ApplyOrigin): Promise<ApplyOutcome & { known: boolean }> {
    return this.inTurn(origin, async (tx, revision, startFileDigest) => {
      if (startFileDigest === digest) return { revision, changes: null, known: true };
      const outcome = await applyWanted(tx, revision, wanted);
      await tx.catalogState.update({ where: { id: 1 }, data: { startFileDigest: digest } });
      return { ...outcome, known: false };
    });
  }

  /** Holds the lock of the state row until the end of the transaction, so that `work` reads what the last apply left. */
  private inTurn<Outcome extends ApplyOutcome>(
    origin: ApplyOrigin,
    work: (tx: Database, revision: number, startFileDigest: string | null) => Promise<Outcome>,
  ): Promise<Outcome> {
    return audited(this.prisma, 'catalog', origin.author, async (tx) => {
      await tx.$queryRaw`SELECT id FROM catalog.state WHERE id = 1 FOR UPDATE`;
      const { revision, startFileDigest } = await tx.catalogState.findUniqueOrThrow({ where: { id: 1 } });
      const result = await work(tx, revision, startFileDigest);
      return { result, change: changeOf(revision, result, origin) };
    });
  }
}

/** Names the changed entries and fields. Of their values it has prices alone. */
function changeOf(before: number, { revision, changes }: ApplyOutcome, { fileName, reason }: ApplyOrigin): AuditedChange | null {
  if (changes === null) return null;
  const change = { action: 'catalog.apply', accountId: null, target: `revision/${revision}`, reason: reason ?? null };
  return { ...change, before: { revision: before }, after: { revision, fileName, ...changes } };
}

async function applyWanted(tx: Database, revision: number, wanted: WantedCatalog): Promise<ApplyOutcome> {
  const current = await readState(tx);
  const changes = planChanges(current, wanted, Math.floor(Date.now() / 1000));
  if (isEmpty(changes)) return { revision, changes: null };
  await writeChanges(tx, changes);
  await tx.catalogState.update({ where: { id: 1 }, data: { revision: revision + 1, changedAt: new Date() } });
  return { revision: revision + 1, changes: describeChanges(current, changes) };
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
  return { revision: state.revision, upstreams: upstreams.map(storedUpstream), models: models.map(storedModel) };
}

type UpstreamRecord = Prisma.UpstreamGetPayload<object>;
type ModelRecord = Prisma.CatalogModelGetPayload<{ include: { prices: true; routes: true } }>;

function storedUpstream(row: UpstreamRecord): StoredUpstream {
  return {
    ...row,
    kind: row.kind as StoredUpstream['kind'],
    // Checked when it was written; newer fields get their default.
    capabilities: { ...new CapabilitiesEntry(), ...(row.capabilities as Partial<CapabilitiesEntry>) },
    timeouts: { ...new TimeoutsEntry(), ...(row.timeouts as Partial<TimeoutsEntry>) },
    tls: row.tls as UpstreamTls | null,
    healthCheck: row.healthCheck as unknown as UpstreamHealthCheck | null,
  };
}

function storedModel({ prices, routes, created, input, ...row }: ModelRecord): StoredModel {
  const price = prices[0];
  if (price === undefined) throw new Error(`model ${row.id} has no price`);
  return {
    ...row,
    created: Number(created),
    input: input as StoredModel['input'],
    price: {
      version: price.version,
      inputPicoUsd: price.inputPrice,
      cachedInputPicoUsd: price.cachedInputPrice,
      outputPicoUsd: price.outputPrice,
    },
    routes: routes.map(({ upstreamId, upstreamModel, weight, priority, concurrencyMax, enabled, position }) => ({
      upstream: upstreamId,
      model: upstreamModel,
      weight,
      priority,
      concurrencyMax,
      enabled,
      position,
    })),
  };
}

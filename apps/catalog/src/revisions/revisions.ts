import type { CatalogChanges } from '#contracts/catalog.js';
import type { CatalogGetReply, CatalogRevision, RevisionListReply, RevisionListRequest } from '#contracts/catalog-revisions.js';
import { ServiceError } from '#contracts/service-error.js';
import type { Prisma, PrismaClient } from '#database/prisma-client.js';

/** Start of the target of an audit row of a revision. */
export const REVISION_TARGET = 'revision/';
const LIMIT_DEFAULT = 50;

/** The history of the catalog: the audit journal has authors and changes, `revision_text` the texts. */
export class Revisions {
  constructor(private readonly prisma: PrismaClient) {}

  /** Lists revisions, newest first. */
  async list({ limit = LIMIT_DEFAULT, cursor }: RevisionListRequest): Promise<RevisionListReply> {
    const rows = await this.prisma.catalogAudit.findMany({
      where: { target: { startsWith: REVISION_TARGET }, id: { lt: cursor } },
      orderBy: { id: 'desc' },
      take: limit + 1,
    });
    const revisions = rows.slice(0, limit).map(renderRevision);
    return { revisions, nextCursor: rows.length > limit ? (revisions.at(-1)?.auditId ?? null) : null };
  }

  /**
   * Returns a revision with its text; by default the current one.
   * @throws {ServiceError} `not_found`.
   */
  async get(revision?: number): Promise<Omit<CatalogGetReply, 'editing'>> {
    const { revision: currentRevision } = await this.prisma.catalogState.findUniqueOrThrow({ where: { id: 1 } });
    const wanted = revision ?? currentRevision;
    // After a restore of the database by hand a number may have several entries.
    const row = await this.prisma.catalogAudit.findFirst({ where: { target: `${REVISION_TARGET}${wanted}` }, orderBy: { id: 'desc' } });
    if (!row) {
      const message = currentRevision === 0 ? 'No catalog is applied yet.' : 'The catalog has no such revision.';
      throw new ServiceError('not_found', message, 'revision');
    }
    const text = await this.prisma.revisionText.findUnique({ where: { revision: wanted } });
    return { ...renderRevision(row), yaml: text?.yaml ?? null, currentRevision };
  }
}

type AuditRow = Prisma.CatalogAuditGetPayload<object>;

/** The column `after` of a revision. A row that was written by hand has none of the fields. */
type After = Partial<CatalogChanges & { fileName: string; scheduledPriceId: string }>;

function renderRevision({ id, at, actor, actorName, via, ip, requestId, target, reason, after }: AuditRow): CatalogRevision {
  const { fileName = null, scheduledPriceId = null, models, upstreams, repriced, services } = (after ?? {}) as After;
  return {
    revision: Number(target.slice(REVISION_TARGET.length)),
    at: at.toISOString(),
    auditId: id,
    actor,
    actorName,
    via,
    ip,
    requestId,
    reason,
    fileName,
    scheduledPriceId,
    changes: models && upstreams && repriced ? { models, upstreams, repriced, ...(services && { services }) } : null,
  };
}

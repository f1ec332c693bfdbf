import type { AuditListRequest } from '#contracts/audit.js';
import type { Prisma, PrismaClient } from '#database/prisma-client.js';
import type { JournalPage } from '../api/audit/audit-journals.js';

const LIMIT_DEFAULT = 100;

/** Lists the entries of the panel's own journal, newest first: ids are UUIDs v7. */
export async function listAudit(prisma: PrismaClient, query: AuditListRequest): Promise<JournalPage> {
  const { accountId, actor, action, from, to, limit = LIMIT_DEFAULT, cursor } = query;
  const rows = await prisma.panelAudit.findMany({
    where: { accountId, actor, action, at: { gte: from && new Date(from), lt: to && new Date(to) }, id: { lt: cursor } },
    orderBy: { id: 'desc' },
    take: limit + 1,
  });
  const entries = rows.slice(0, limit);
  return { entries: entries.map(renderEntry), nextCursor: rows.length > limit ? (entries.at(-1)?.id ?? null) : null };
}

function renderEntry({ at, before, after, ...row }: Prisma.PanelAuditModel): JournalPage['entries'][number] {
  type Fields = Record<string, unknown> | null;
  return { ...row, at: at.toISOString(), before: before as Fields, after: after as Fields };
}

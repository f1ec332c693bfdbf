import type { AuditCheckReply } from '#contracts/audit.js';
import type { Journal } from './audit-journal.js';
import { Prisma, type PrismaClient } from './prisma-client.js';

/** Checks the chain of a journal in one snapshot. */
export async function checkAuditChain(prisma: PrismaClient, journal: Journal): Promise<AuditCheckReply> {
  const rows = await prisma.$queryRaw<AuditCheckReply[]>`SELECT coalesce(h.sequence, 0)::int AS entries,
      coalesce(encode(h.digest, 'hex'), '') AS digest,
      ARRAY(SELECT subject FROM (${Prisma.raw(auditChainFaults(journal))}) f ORDER BY subject LIMIT ${FAULTS_MAX}) AS faults
    FROM (SELECT) one LEFT JOIN ${Prisma.raw(journal)}.audit_head h ON true`;
  return rows[0] as AuditCheckReply;
}

const FAULTS_MAX = 100;

/** Returns the query of the faults in the chain of a journal: rows of `subject` and `account_id`. One pass over the journal. */
export function auditChainFaults(journal: Journal): string {
  return `WITH links AS (
      SELECT sequence, audit_id, digest, lag(sequence, 1, 0::bigint) OVER chain AS sequence_before, lag(digest, 1, ''::bytea) OVER chain AS previous
      FROM ${journal}.audit_link WINDOW chain AS (ORDER BY sequence)
    )
    SELECT coalesce(a.id, l.audit_id)::text AS subject, a.account_id FROM links l FULL JOIN ${journal}.audit a ON a.id = l.audit_id
    WHERE l.sequence IS NULL OR a.id IS NULL OR l.sequence <> l.sequence_before + 1 OR l.digest <> ${journal}.audit_digest(l.previous, a)
    UNION ALL
    SELECT 'the end of the audit journal', NULL WHERE NOT EXISTS (
      SELECT FROM ${journal}.audit_head h LEFT JOIN (SELECT sequence, digest FROM links ORDER BY sequence DESC LIMIT 1) last ON true
      WHERE h.sequence = coalesce(last.sequence, 0) AND h.digest = coalesce(last.digest, ''))`;
}

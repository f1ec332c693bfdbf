import type { AuditEntry as ServiceAuditEntry } from '#contracts/audit.js';

/** `GET /audit?accountId&actor&action&from&to&limit&cursor` and `audit.csv`: changes in all services, newest first. */
export interface AuditListReply {
  entries: AuditEntry[];
  nextCursor: string | null;
}

export interface AuditEntry extends ServiceAuditEntry {
  /** Journal that the entry is in. */
  service: 'billing' | 'catalog' | 'panel' | 'payments';
}

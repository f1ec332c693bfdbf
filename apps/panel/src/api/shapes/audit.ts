import type { AuditEntry as ServiceAuditEntry } from '#contracts/audit.js';

/** `GET /audit?accountId&actor&action&from&to&limit&cursor` and `audit.csv`: changes in all services, newest first. */
export interface AuditListReply {
  entries: AuditEntry[];
  nextCursor: string | null;
}

export interface AuditEntry extends Omit<ServiceAuditEntry, 'target'> {
  /** The changed row: `account/<id>`, `project/<id>`, `key/<id>`, `user/<id>`. Null for a sign-in that failed. */
  target: string | null;
  /** Journal that the entry is in. */
  service: 'billing' | 'catalog' | 'panel';
}

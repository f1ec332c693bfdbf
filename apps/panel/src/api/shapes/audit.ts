/** `GET /audit?accountId&actor&action&from&to&limit&cursor` and `audit.csv`: changes in all services, newest first. */
export interface AuditListReply {
  entries: AuditEntry[];
  nextCursor: string | null;
}

export interface AuditEntry {
  id: string;
  /** Journal that the entry is in. */
  service: 'billing' | 'catalog' | 'panel';
  at: string;
  /** `user/<id>`, `token/<id>`, `cli/<os-user>@<host>`, or the NATS user of a caller that named no actor. */
  actor: string;
  actorName: string | null;
  /** NATS user that the change came through. */
  via: string | null;
  ip: string | null;
  /** HTTP request id. */
  requestId: string | null;
  action: string;
  accountId: string | null;
  target: string | null;
  reason: string | null;
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
}

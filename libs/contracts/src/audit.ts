import { IsInt, IsOptional, Max, Min } from 'class-validator';
import { Id, Instant, type Paged, Text } from './billing/fields.js';
import { EmptyRequest } from './catalog.js';
import { Endpoint } from './endpoint.js';

/** The person or program behind a call, as the calling service names it. Sent in headers. */
export interface Actor {
  /** `user/<id>`, `token/<id>`, or `cli/<os-user>@<host>`. */
  actor: string;
  /** Name for people. */
  actorName?: string | null;
  /** Network address of the person or program. */
  ip?: string | null;
  /** Id of the HTTP request that made the call. */
  requestId?: string | null;
  /** A person or program of the customer, for whom limits and budgets of the operator are the most. Absent: the operator. */
  level?: 'customer' | undefined;
}

/** The sender of a request, as the service that answers it knows it. */
export interface Caller {
  /** `nats/<user>` when the request names no actor, `service/<name>` for changes that a service makes by itself. */
  actor: string;
  actorName: string | null;
  /** NATS user that sent the request, proven by the server's permissions for its subject. Null for a service itself. */
  via: string | null;
  ip: string | null;
  requestId: string | null;
  /** Absent: the operator, or a service itself. */
  level?: 'customer';
}

/** One administrative change. Never has a secret. */
export interface AuditEntry extends Omit<Caller, 'level'> {
  /** UUID v7: ids are in the order of time, over the journals of all services. */
  id: string;
  at: string;
  /** The change: `account.create`, `budget.update`. */
  action: string;
  accountId: string | null;
  /** The changed row: `account/<id>`, `project/<id>`, `key/<id>`, `budget/<id>`, `movement/<id>`, `revision/<n>`, `price/<id>`. */
  target: string;
  reason: string | null;
  /** Changed fields; of a budget also the period and what it is of. Null for a new row. */
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
}

export class AuditListRequest {
  @IsOptional() @Id() accountId?: string;
  @IsOptional() @Text(256) actor?: string;
  @IsOptional() @Text(100) action?: string;
  /** Only changes of this row, such as `key/<id>`. */
  @IsOptional() @Text(256) target?: string;
  /** Start, included. */
  @IsOptional() @Instant() from?: string;
  /** End, excluded. */
  @IsOptional() @Instant() to?: string;
  /** Entries on one page. Default 100. */
  @IsOptional() @IsInt() @Min(1) @Max(200) limit?: number;
  /** Id of the last entry of the page before. One cursor fits the journals of all services, so a caller can merge them. */
  @IsOptional() @Id() cursor?: string;
}

export interface AuditListReply extends Paged {
  entries: AuditEntry[];
}

export const billingAuditList = new Endpoint<AuditListRequest, AuditListReply>('billing.v1.audit.list', AuditListRequest, {
  about: 'Administrative changes of accounts, projects, keys and money, newest first',
});

export const catalogAuditList = new Endpoint<AuditListRequest, AuditListReply>('catalog.v1.audit.list', AuditListRequest, {
  about: 'Revisions of the catalog, scheduled prices and tests of upstreams, newest first',
});

export const panelAuditList = new Endpoint<AuditListRequest, AuditListReply>('panel.v1.audit.list', AuditListRequest, {
  about: 'Changes of people and rights, sign-ins and refusals of permission, newest first',
});

export const paymentsAuditList = new Endpoint<AuditListRequest, AuditListReply>('payments.v1.audit.list', AuditListRequest, {
  about: 'Rules of automatic top-ups, newest first',
});

export interface AuditCheckReply {
  /** Rows of the journal. */
  entries: number;
  /** Digest of the last row, which covers all rows. Empty without a row. */
  digest: string;
  /** Ids of the rows that were changed, removed or inserted, and of those that follow a gap; the first hundred. */
  faults: string[];
}

/** Billing checks its own journal with `ledger.check`. */
export const catalogAuditCheck = new Endpoint<EmptyRequest, AuditCheckReply>('catalog.v1.audit.check', EmptyRequest, {
  about: "Checks the chain of the catalog's audit journal",
});

export const panelAuditCheck = new Endpoint<EmptyRequest, AuditCheckReply>('panel.v1.audit.check', EmptyRequest, {
  about: "Checks the chain of the panel's audit journal",
});

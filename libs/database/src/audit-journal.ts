import { isDeepStrictEqual } from 'node:util';
import type { AuditEntry, AuditListReply, AuditListRequest, Caller } from '#contracts/audit.js';
import type { Logger } from '#observability/logger.js';
import { Prisma, type PrismaClient } from './prisma-client.js';

/** The audit journals of the services: tables of one form, each in the schema that it is about. */
export type Journal = 'billing' | 'catalog' | 'panel' | 'payments';

/** The sender of a change, and the log that gets its audit row. */
export interface Author {
  caller: Caller;
  /** Absent: the row is in the journal alone. */
  logger?: Pick<Logger, 'info'>;
  /** Reason of all its changes, in place of their own. */
  reason?: string;
}

/** A change without its time and author. */
export type AuditedChange = Omit<AuditEntry, keyof Caller | 'id' | 'at'>;

const TRANSACTION_LIMITS = { maxWait: 5_000, timeout: 30_000 };

/** Clients of `auditedTogether`, with the transaction that their changes join. */
const together = new WeakMap<PrismaClient, { tx: Prisma.TransactionClient; changes: AuditedChange[] }>();

/** Returns the author of changes that a service makes by itself. */
export function serviceAuthor(service: Journal, logger?: Pick<Logger, 'info'>): Author {
  return { caller: { actor: `service/${service}`, actorName: null, via: null, ip: null, requestId: null }, logger };
}

/**
 * Runs `work` in one transaction with the audit rows of the changes that it returns. Null: nothing was changed, and nothing is recorded.
 * The rows are logged after the commit.
 */
export async function audited<Result>(
  prisma: PrismaClient,
  journal: Journal,
  author: Author,
  work: (tx: Prisma.TransactionClient) => Promise<{ result: Result; change: AuditedChange | readonly AuditedChange[] | null }>,
): Promise<Result> {
  const joined = together.get(prisma);
  if (joined) {
    const { result, change } = await work(joined.tx);
    joined.changes.push(...[change ?? []].flat());
    return result;
  }
  const { result, rows } = await prisma.$transaction(async (tx) => {
    const { result, change } = await work(tx);
    const rows: (AuditEntry | undefined)[] = [];
    for (const one of [change ?? []].flat()) rows.push(await recordAudit(tx, journal, author, one));
    return { result, rows };
  }, TRANSACTION_LIMITS);
  for (const row of rows) if (row) logAudit(author, row);
  return result;
}

/**
 * Runs `work` in one transaction. Each `audited` with the client that `work` gets joins it: their changes and audit rows are committed
 * together, or none is. The rows are written last, because the journal is locked from the first one on. It takes one connection: a second one
 * would be waited for while rows are locked.
 */
export function auditedTogether<Result>(
  prisma: PrismaClient,
  journal: Journal,
  author: Author,
  work: (joined: PrismaClient) => Promise<Result>,
): Promise<Result> {
  return audited(prisma, journal, author, async (tx) => {
    const changes: AuditedChange[] = [];
    const joined = joinTransaction(tx);
    together.set(joined, { tx, changes });
    return { result: await work(joined), change: changes };
  });
}

/** True for a client of `auditedTogether`. Its transaction sees what others commit meanwhile. */
export function isJoined(prisma: PrismaClient): boolean {
  return together.has(prisma);
}

function joinTransaction(tx: Prisma.TransactionClient): PrismaClient {
  const transaction = (work: (tx: Prisma.TransactionClient) => Promise<unknown>, options?: { isolationLevel?: string }) => {
    if (options?.isolationLevel !== undefined) throw new TypeError('a joined transaction has the isolation of the one that it joins');
    return work(tx);
  };
  return new Proxy(tx as PrismaClient, {
    get: (target, name) => (name === '$transaction' ? transaction : Reflect.get(target, name)),
  });
}

/** Writes the audit row of an act that costs much and changes no row of its own, before it begins: without a row there is no act. */
export function auditedAct(
  prisma: PrismaClient,
  journal: Journal,
  author: Author,
  act: Pick<AuditedChange, 'action' | 'target'> & Partial<AuditedChange>,
): Promise<void> {
  const change = { accountId: null, reason: null, before: null, after: null, ...act };
  return audited(prisma, journal, author, async () => ({ result: undefined, change }));
}

/** Writes the audit row of a change in its transaction. Returns it for the log. */
export async function recordAudit(
  tx: Prisma.TransactionClient,
  journal: Journal,
  { caller, reason: common }: Author,
  { action, accountId, target, reason, before, after }: AuditedChange,
): Promise<AuditEntry | undefined> {
  const rows = await tx.$queryRaw<{ row: AuditEntry }[]>`SELECT ${Prisma.raw(journal)}.record_audit(${toJson(caller)}::jsonb, ${action},
    ${accountId}::uuid, ${target}, ${common ?? reason}, ${toJson(before)}::jsonb, ${toJson(after)}::jsonb) AS row`;
  return rows[0]?.row;
}

/** Writes the log line of a committed audit row, so that a copy lies outside the database. */
export function logAudit({ logger }: Author, row: AuditEntry): void {
  logger?.info({ audit: row }, 'audit');
}

/** Returns the fields that differ, before and after; null when none does. */
export function changedFields(before: object, after: object): { before: Record<string, unknown>; after: Record<string, unknown> } | null {
  const old = Object.entries(before);
  const now = after as Record<string, unknown>;
  const changed = old.filter(([field, value]) => !isDeepStrictEqual(value, now[field]));
  if (changed.length === 0) return null;
  return { before: Object.fromEntries(changed), after: Object.fromEntries(changed.map(([field]) => [field, now[field]])) };
}

const LIMIT_DEFAULT = 100;

/** Lists a journal, newest first. Rows never change, so pages are stable; new rows appear before the first page. */
export async function listAudit(prisma: PrismaClient, journal: Journal, request: AuditListRequest): Promise<AuditListReply> {
  const { accountId, actor, action, target, from, to, limit = LIMIT_DEFAULT, cursor } = request;
  const olderThan = [to && firstIdAt(to), cursor].filter((id) => id !== undefined).sort()[0];
  const where = { accountId, actor, action, target, id: { gte: from && firstIdAt(from), lt: olderThan } };
  const rows = await findTable(prisma, journal).findMany({ where, orderBy: { id: 'desc' }, take: limit + 1 });
  const entries = rows.slice(0, limit).map(({ at, ...row }) => ({ ...row, at: at.toISOString() }) as AuditEntry);
  return { entries, nextCursor: rows.length > limit ? (entries.at(-1)?.id ?? null) : null };
}

/** Prisma's tables of the journals have one form, and types of their own. */
function findTable(prisma: PrismaClient, journal: Journal): PrismaClient['billingAudit'] {
  const tables = { billing: prisma.billingAudit, catalog: prisma.catalogAudit, panel: prisma.panelAudit, payments: prisma.paymentsAudit };
  return tables[journal] as PrismaClient['billingAudit'];
}

/** Returns the lowest UUID v7 of a moment. Ids begin with the milliseconds of their row, so a range of time is a range of ids. */
function firstIdAt(moment: string): string {
  const milliseconds = Math.max(0, new Date(moment).getTime()).toString(16).padStart(12, '0');
  return `${milliseconds.slice(0, 8)}-${milliseconds.slice(8)}-0000-0000-000000000000`;
}

function toJson(value: object | null): string | null {
  return value === null ? null : JSON.stringify(value);
}

import type { UsageGroup, UsageQueryReply, UsageQueryRequest, UsageRow, UsageStep } from '#contracts/billing/usage.js';
import { ServiceError } from '#contracts/service-error.js';
import { Prisma, type PrismaClient } from '#database/prisma-client.js';
import { requireAccount } from '../accounts/accounts.js';
import { isCancelled } from '../accounts/database-refusal.js';
import { isId, isMoment, isText, parseCursor, renderCursor } from '../paging/page-cursor.js';
import { timeRange } from '../paging/time-range.js';

const LIMIT_DEFAULT = 100;
const DAYS_MAX = 366;
const DAY_MS = 24 * 3_600_000;

/**
 * Sums the usage of an account from `from` to before `to`: settlements of this time, and late settlements of it as the difference to the
 * bill of the reaper, so that past sums never change. Served by the index `settlement_account_id_settled_at`.
 *
 * Pages are stable: a page starts after the last row of the one before, and the first page fixes `to`.
 * @throws {ServiceError} `invalid_request` for a field, `not_found` for an unknown account.
 */
export async function queryUsage(prisma: PrismaClient, request: UsageQueryRequest, now = new Date()): Promise<UsageQueryReply> {
  const question = parseQuestion(request);
  const limit = request.limit ?? LIMIT_DEFAULT;
  const columns = columnsOf(question);
  const [settledTo, ...after] = request.cursor ? parseCursor(question, request.cursor, [isMoment, ...columns.map(({ form }) => form)]) : [];
  const to = settledTo ? new Date(settledTo) : (question.to ?? now);
  if (to <= question.from) throw new ServiceError('invalid_request', 'from must be earlier than now.', 'from');
  const rows = await prisma.$queryRaw<UsageRow[]>(summing(question, to, columns, after, limit + 1)).catch(tooMuch);
  if (rows.length === 0) await requireAccount(prisma, question.accountId);
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const end = last && rows.length > limit ? [momentOf(to), ...columns.map(({ name }) => last[name] ?? '')] : undefined;
  return {
    from: question.from.toISOString(),
    to: to.toISOString(),
    rows: page.map(renderRow),
    nextCursor: end ? renderCursor(question, end) : null,
  };
}

/** The query without its paging. */
interface Question {
  accountId: string;
  from: Date;
  to: Date | undefined;
  step: UsageStep | undefined;
  groupBy: UsageGroup[];
  projectId: string | undefined;
  keyId: string | undefined;
  model: string | undefined;
}

function parseQuestion(request: UsageQueryRequest): Question {
  const { from, to } = timeRange(request.from, request.to);
  if (!from) throw new ServiceError('invalid_request', 'from is missing', 'from');
  if ((to ?? new Date()).getTime() - from.getTime() > DAYS_MAX * DAY_MS) {
    throw new ServiceError('invalid_request', `A query covers at most ${DAYS_MAX} days.`, 'from');
  }
  return {
    accountId: request.accountId,
    from,
    to,
    step: request.step,
    groupBy: request.groupBy ?? [],
    projectId: request.projectId,
    keyId: request.keyId,
    model: request.model,
  };
}

/** A column that the sums are grouped by, in the order of the rows. */
interface Column {
  name: 'start' | 'projectId' | 'keyId' | 'model';
  sql: Prisma.Sql;
  /** Checks and renders its value in a cursor. */
  form: (value: string) => boolean;
  value: (text: string) => Prisma.Sql;
}

const uuid = (text: string): Prisma.Sql => Prisma.sql`${text}::uuid`;
const plain = (text: string): Prisma.Sql => Prisma.sql`${text}`;

const GROUPS: Record<UsageGroup, Column> = {
  project: { name: 'projectId', sql: Prisma.sql`project_id`, form: isId, value: uuid },
  key: { name: 'keyId', sql: Prisma.sql`key_id`, form: isId, value: uuid },
  // Byte order, independent of the locale of the database.
  model: { name: 'model', sql: Prisma.sql`model COLLATE "C"`, form: isText, value: plain },
};

function columnsOf({ step, groupBy }: Question): Column[] {
  const time: Column = {
    name: 'start',
    sql: Prisma.sql`date_trunc(${Prisma.raw(`'${step}'`)}, settled_at, 'UTC')`,
    form: isMoment,
    value: (text) => Prisma.sql`${text}::timestamptz`,
  };
  return [
    ...(step ? [time] : []),
    ...(['project', 'key', 'model'] as const).filter((group) => groupBy.includes(group)).map((group) => GROUPS[group]),
  ];
}

function tooMuch(error: unknown): never {
  if (!isCancelled(error)) throw error;
  throw new ServiceError('invalid_request', 'The query takes too long: use a shorter time range.', 'from', { cause: error });
}

/** Selects the rows of the journal in the time, then their sums. */
function summing(question: Question, to: Date, columns: Column[], after: string[], rowsMax: number): Prisma.Sql {
  // Skips the hours and days before the cursor.
  const start = columns[0]?.name === 'start' && after[0] ? new Date(after[0]) : question.from;
  const from = start > question.from ? start : question.from;
  const keys = columns.map(({ sql }) => sql);
  const values = columns.map(({ value }, position) => value(after[position] ?? ''));
  return Prisma.sql`
    WITH used AS (${usedIn(question, from, to)})
    SELECT ${Prisma.join([...columns.map(rendered), SUMS])} FROM used
    ${columns.length > 0 ? Prisma.sql`GROUP BY ${Prisma.join(keys)}` : Prisma.empty}
    ${columns.length === 0 ? Prisma.sql`HAVING count(*) > 0` : Prisma.empty}
    ${after.length > 0 ? Prisma.sql`HAVING (${Prisma.join(keys)}) > (${Prisma.join(values)})` : Prisma.empty}
    ${columns.length > 0 ? Prisma.sql`ORDER BY ${Prisma.join(keys)}` : Prisma.empty} LIMIT ${rowsMax}`;
}

function usedIn({ accountId, projectId, keyId, model }: Question, from: Date, to: Date): Prisma.Sql {
  const ofWhom = Prisma.join(
    [
      Prisma.sql`s.account_id = ${accountId}::uuid AND s.project_id IS NOT NULL`,
      ...(projectId ? [Prisma.sql`s.project_id = ${projectId}::uuid`] : []),
      ...(keyId ? [Prisma.sql`s.key_id = ${keyId}::uuid`] : []),
      ...(model ? [Prisma.sql`s.model = ${model}`] : []),
    ],
    ' AND ',
  );
  return Prisma.sql`
    SELECT s.settled_at, s.project_id, s.key_id, s.model, 1 AS requests,
      CASE WHEN s.prompt_source = 'estimated' OR s.output_source <> 'reported' OR s.usage_source = 'estimated' THEN 1 ELSE 0 END AS estimated,
      s.prompt_tokens, s.cached_tokens, s.output_tokens, s.reasoning_tokens, s.cost, s.forfeit
    FROM billing.settlement s WHERE ${ofWhom} AND s.settled_at >= ${from} AND s.settled_at < ${to}
    UNION ALL
    SELECT l.settled_at, s.project_id, s.key_id, s.model, 0, 0, l.prompt_tokens - s.prompt_tokens, l.cached_tokens - s.cached_tokens,
      l.output_tokens - s.output_tokens, l.reasoning_tokens - s.reasoning_tokens, l.due - l.writeoff, coalesce(l.forfeit, 0)
    FROM billing.late_settlement l JOIN billing.settlement s ON s.hold_id = l.hold_id
    WHERE ${ofWhom} AND l.account_id = ${accountId}::uuid AND l.settled_at >= ${from} AND l.settled_at < ${to}`;
}

/** Counts are exact as numbers up to 2^53; money is text. */
const SUMS = Prisma.sql`sum(requests)::float8 AS requests, sum(estimated)::float8 AS "estimatedRequests",
  sum(prompt_tokens)::float8 AS "promptTokens", sum(cached_tokens)::float8 AS "cachedTokens", sum(output_tokens)::float8 AS "outputTokens",
  sum(reasoning_tokens)::float8 AS "reasoningTokens", sum(cost)::text AS "costPicoUsd", sum(forfeit)::text AS "forfeitedPicoUsd"`;

function rendered({ name, sql }: Column): Prisma.Sql {
  const text =
    name === 'start' ? Prisma.sql`to_char(${sql} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')` : Prisma.sql`(${sql})::text`;
  return Prisma.sql`${text} AS ${Prisma.raw(`"${name}"`)}`;
}

/** `start` has microseconds. */
function renderRow({ start, ...row }: UsageRow): UsageRow {
  return { ...(start !== undefined && { start: new Date(start).toISOString() }), ...row };
}

function momentOf(date: Date): string {
  return date.toISOString().replace('Z', '000Z');
}

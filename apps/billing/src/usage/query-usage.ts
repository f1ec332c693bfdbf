import {
  ATTRIBUTED_DAYS_MAX,
  ATTRIBUTION_GROUPS,
  type AttributionGroup,
  USAGE_GROUPS,
  type UsageGroup,
  type UsageQueryReply,
  type UsageQueryRequest,
  type UsageRow,
  type UsageStep,
} from '#contracts/billing/usage.js';
import { TAG_NAME } from '#contracts/rules/bounds.js';
import { ServiceError } from '#contracts/service-error.js';
import { Prisma, type PrismaClient } from '#database/prisma-client.js';
import { requireAccount } from '../accounts/accounts.js';
import { isCancelled } from '../accounts/prisma-errors.js';
import { isId, isMoment, isText, parseCursor, renderCursor } from '../paging/page-cursor.js';
import { timeRange } from '../paging/time-range.js';
import { ENTRY_COLUMNS, USAGE_ENTRIES } from './usage-entries.js';
import { DAY_MS, type Range, usageParts } from './usage-parts.js';
import { inUsageSnapshot, type UsageState } from './usage-snapshot.js';

const LIMIT_DEFAULT = 100;
const DAYS_MAX = 366;

/**
 * Sums the usage of one account or all from `from` to before `to`. Whole days and hours come from the rollups, parts of an hour and what is
 * not in the rollups yet from the journal; the sums are those of the journal. Past sums never change. Usage by user, tag, client, session,
 * agent or child key comes from the journal alone, so that what clients send does not multiply the rows of the rollups.
 *
 * Pages are stable: a page starts after the last row of the one before, and the first page fixes `to`.
 * @throws {ServiceError} `invalid_request` for a field, `not_found` for an unknown account.
 */
export async function queryUsage(prisma: PrismaClient, request: UsageQueryRequest, now = new Date()): Promise<UsageQueryReply> {
  const question = parseQuestion(request);
  const limit = request.limit ?? LIMIT_DEFAULT;
  const columns = selectColumns(question);
  const [settledTo, ...after] = request.cursor ? parseCursor(question, request.cursor, [isMoment, ...columns.map(({ form }) => form)]) : [];
  const to = settledTo ? new Date(settledTo) : (question.to ?? now);
  if (to <= question.from) throw new ServiceError('invalid_request', 'from must be earlier than now.', 'from');
  const rows = await inUsageSnapshot(prisma, (snapshot, state) =>
    snapshot.$queryRaw<SummedRow[]>(summing(question, to, state, columns, after, limit + 1)),
  ).catch(tooMuch);
  if (rows.length === 0 && question.accountId) await requireAccount(prisma, question.accountId);
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const end = last && rows.length > limit ? [renderTime(to), ...columns.map(({ name }) => last[name] ?? '')] : undefined;
  return {
    from: question.from.toISOString(),
    to: to.toISOString(),
    rows: page.map(renderRow),
    nextCursor: end ? renderCursor(question, end) : null,
  };
}

/** The query without its paging. */
interface Question {
  accountId: string | undefined;
  from: Date;
  to: Date | undefined;
  step: UsageStep | undefined;
  groupBy: UsageGroup[];
  /** Name of the tag. */
  tag: string | undefined;
  projectId: string | undefined;
  keyId: string | undefined;
  child: string | undefined;
  model: string | undefined;
  upstream: string | undefined;
  ending: string | undefined;
}

/** Parses a range of at most 366 days. @throws {ServiceError} `invalid_request` for `from` or `to`. */
export function checkedRange(request: Pick<UsageQueryRequest, 'from' | 'to'>): { from: Date; to?: Date } {
  const { from, to } = timeRange(request.from, request.to);
  if (!from) throw new ServiceError('invalid_request', 'from is missing', 'from');
  if ((to ?? new Date()).getTime() - from.getTime() > DAYS_MAX * DAY_MS) {
    throw new ServiceError('invalid_request', `A query covers at most ${DAYS_MAX} days.`, 'from');
  }
  return { from, ...(to && { to }) };
}

function parseQuestion(request: UsageQueryRequest): Question {
  const { from, to } = checkedRange(request);
  const groupBy = request.groupBy ?? [];
  if (groupBy.includes('tag') && !TAG_NAME.test(request.tag ?? '')) {
    throw new ServiceError('invalid_request', 'tag is the name of the tag to group by.', 'tag');
  }
  if (isAttributed({ groupBy, child: request.child })) checkAttributed(request, (to ?? new Date()).getTime() - from.getTime());
  return {
    accountId: request.accountId,
    from,
    to,
    step: request.step,
    groupBy,
    tag: request.tag,
    projectId: request.projectId,
    keyId: request.keyId,
    child: request.child,
    model: request.model,
    upstream: request.upstream,
    ending: request.ending,
  };
}

/** True for usage that is read from the journal alone. */
function isAttributed({ groupBy, child }: Pick<Question, 'groupBy' | 'child'>): boolean {
  return child !== undefined || groupBy.some(isAttributionGroup);
}

function isAttributionGroup(group: UsageGroup): group is AttributionGroup {
  return (ATTRIBUTION_GROUPS as readonly UsageGroup[]).includes(group);
}

/** The journal has an index by account and time. */
function checkAttributed({ accountId }: UsageQueryRequest, milliseconds: number): void {
  const groups = ATTRIBUTION_GROUPS.join(', ');
  if (accountId === undefined)
    throw new ServiceError('invalid_request', `Usage by ${groups} is that of one account: name the account.`, 'accountId');
  if (milliseconds > ATTRIBUTED_DAYS_MAX * DAY_MS) {
    throw new ServiceError('invalid_request', `A query by ${groups} covers at most ${ATTRIBUTED_DAYS_MAX} days.`, 'from');
  }
}

/** A column that the sums are grouped by, in the order of the rows. */
interface Column {
  name: 'start' | 'accountId' | 'projectId' | 'keyId' | 'model' | 'upstream' | 'ending' | AttributionGroup;
  sql: Prisma.Sql;
  /** Checks and renders its value in a cursor. */
  form: (value: string) => boolean;
  value: (text: string) => Prisma.Sql;
}

const uuid = (text: string): Prisma.Sql => Prisma.sql`${text}::uuid`;
const plain = (text: string): Prisma.Sql => Prisma.sql`${text}`;

/** In the order of the columns. Texts are in byte order, independent of the locale of the database. */
const GROUPS: Record<Exclude<UsageGroup, AttributionGroup>, Column> = {
  account: { name: 'accountId', sql: Prisma.sql`account_id`, form: isId, value: uuid },
  project: { name: 'projectId', sql: Prisma.sql`project_id`, form: isId, value: uuid },
  key: { name: 'keyId', sql: Prisma.sql`key_id`, form: isId, value: uuid },
  model: { name: 'model', sql: Prisma.sql`model`, form: isText, value: plain },
  upstream: { name: 'upstream', sql: Prisma.sql`upstream`, form: isText, value: plain },
  ending: { name: 'ending', sql: Prisma.sql`ending`, form: isText, value: plain },
};

/** Requests without a value have the empty text, which no value is. The dimension is a part of the query: its groups must be the same expression. */
function attributed(name: AttributionGroup, dimension: string): Column {
  return { name, sql: Prisma.sql`coalesce(attribution ->> ${Prisma.raw(`'${dimension}'`)}, '') COLLATE "C"`, form: isText, value: plain };
}

function selectColumns({ step, groupBy, tag }: Question): Column[] {
  const time: Column = {
    name: 'start',
    sql: Prisma.sql`date_trunc(${Prisma.raw(`'${step}'`)}, at, 'UTC')`,
    form: isMoment,
    value: (text) => Prisma.sql`${text}::timestamptz`,
  };
  const column = (group: UsageGroup): Column => {
    if (group === 'tag') return attributed(group, `tag:${tag}`);
    return isAttributionGroup(group) ? attributed(group, group) : GROUPS[group];
  };
  return [...(step ? [time] : []), ...USAGE_GROUPS.filter((group) => groupBy.includes(group)).map(column)];
}

/** Throws `invalid_request` for a statement that exceeded its time limit, and other errors as they are. */
export function tooMuch(error: unknown): never {
  if (!isCancelled(error)) throw error;
  throw new ServiceError('invalid_request', 'The query takes too long: use a shorter time range.', 'from', { cause: error });
}

/** Selects the rows of the time, then their sums. */
function summing(question: Question, to: Date, state: UsageState, columns: Column[], after: string[], rowsMax: number): Prisma.Sql {
  // Skips the hours and days before the cursor.
  const start = columns[0]?.name === 'start' && after[0] ? new Date(after[0]) : question.from;
  const from = start > question.from ? start : question.from;
  const keys = columns.map(({ sql }) => sql);
  const values = columns.map(({ value }, position) => value(after[position] ?? ''));
  return Prisma.sql`
    WITH used AS (${usedIn(question, [from.getTime(), to.getTime()], state)})
    SELECT ${Prisma.join([...columns.map(rendered), ...(question.groupBy.includes('agent') ? [PARENT] : []), SUMS])} FROM used
    ${columns.length > 0 ? Prisma.sql`GROUP BY ${Prisma.join(keys)}` : Prisma.empty}
    ${columns.length === 0 ? Prisma.sql`HAVING count(*) > 0` : Prisma.empty}
    ${after.length > 0 ? Prisma.sql`HAVING (${Prisma.join(keys)}) > (${Prisma.join(values)})` : Prisma.empty}
    ${columns.length > 0 ? Prisma.sql`ORDER BY ${Prisma.join(keys)}` : Prisma.empty} LIMIT ${rowsMax}`;
}

function usedIn(question: Question, range: Range, { closedTo, newestAt, detachedTo }: UsageState): Prisma.Sql {
  const isByAttribution = isAttributed(question);
  const { days, hours, tail, edges } = usageParts(range, question.step, newestAt?.getTime() ?? Number.NEGATIVE_INFINITY);
  if (detachedTo && (isByAttribution ? [range] : edges).some(([start]) => start < detachedTo.getTime())) {
    const advice = isByAttribution ? 'ask from then on' : 'use whole hours';
    throw new ServiceError('invalid_request', `Requests before ${detachedTo.toISOString()} are detached: ${advice}.`, 'from');
  }
  const where = buildFilters(question);
  const from = (table: string, time: string, ranges: Range[], also = Prisma.empty, columns = ENTRY_COLUMNS): Prisma.Sql[] =>
    ranges.map(
      ([start, end]) => Prisma.sql`
        SELECT ${Prisma.raw(columns.join(', ').replace('at', `${time} AS at`))} FROM ${Prisma.raw(table)} entry
        WHERE ${Prisma.raw(time)} >= ${new Date(start)} AND ${Prisma.raw(time)} < ${new Date(end)} ${where} ${also}`,
    );
  if (isByAttribution) {
    return Prisma.join(from(USAGE_ENTRIES, 'at', [range], Prisma.empty, [...ENTRY_COLUMNS, 'attribution']), '');
  }
  return Prisma.join(
    [
      ...from('billing.usage_day', 'day', days),
      ...from('billing.usage_hour', 'hour', hours),
      ...from(USAGE_ENTRIES, 'at', tail, Prisma.sql`AND transaction_id >= ${closedTo}`),
      ...from(USAGE_ENTRIES, 'at', edges),
    ],
    ' UNION ALL ',
  );
}

function buildFilters({ accountId, projectId, keyId, child, model, upstream, ending }: Question): Prisma.Sql {
  const filters = [
    ...(accountId ? [Prisma.sql`AND account_id = ${accountId}::uuid`] : []),
    ...(projectId ? [Prisma.sql`AND project_id = ${projectId}::uuid`] : []),
    ...(keyId ? [Prisma.sql`AND key_id = ${keyId}::uuid`] : []),
    ...(child ? [Prisma.sql`AND (attribution ->> 'child' = ${child} OR starts_with(attribution ->> 'child', ${`${child}.`}))`] : []),
    ...(model ? [Prisma.sql`AND model = ${model}`] : []),
    ...(upstream ? [Prisma.sql`AND upstream = ${upstream}`] : []),
    ...(ending ? [Prisma.sql`AND ending = ${ending}`] : []),
  ];
  return filters.length > 0 ? Prisma.join(filters, ' ') : Prisma.empty;
}

/** Counts are exact as numbers up to 2^53; money is text. */
const SUMS = Prisma.sql`sum(requests)::float8 AS requests, sum(estimated_requests)::float8 AS "estimatedRequests",
  sum(prompt_tokens)::float8 AS "promptTokens", sum(cached_tokens)::float8 AS "cachedTokens",
  nullif(sum(cache_write_tokens), 0)::float8 AS "cacheWriteTokens", nullif(sum(cache_write_1h_tokens), 0)::float8 AS "cacheWrite1hTokens",
  sum(output_tokens)::float8 AS "outputTokens", sum(reasoning_tokens)::float8 AS "reasoningTokens",
  nullif(sum(quantity), 0)::float8 AS quantity, sum(cost)::text AS "costPicoUsd", sum(forfeit)::text AS "forfeitedPicoUsd"`;

/** An agent has one parent; of several that clients named, one is the same in each query. */
const PARENT = Prisma.sql`max((attribution ->> 'parent-agent') COLLATE "C") AS "parentAgent"`;

function rendered({ name, sql }: Column): Prisma.Sql {
  const text =
    name === 'start' ? Prisma.sql`to_char(${sql} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')` : Prisma.sql`(${sql})::text`;
  return Prisma.sql`${text} AS ${Prisma.raw(`"${name}"`)}`;
}

/** Columns in which no value is ''. */
const NULLABLE = ['upstream', ...ATTRIBUTION_GROUPS] as const;

/** `start` has microseconds. Null counts are 0. */
type SummedRow = Omit<UsageRow, 'parentAgent' | 'cacheWriteTokens' | 'cacheWrite1hTokens' | 'quantity'> & {
  parentAgent?: string | null;
  cacheWriteTokens: number | null;
  cacheWrite1hTokens: number | null;
  quantity: number | null;
};

function renderRow({ start, parentAgent, cacheWriteTokens, cacheWrite1hTokens, quantity, ...row }: SummedRow): UsageRow {
  for (const name of NULLABLE) if (row[name] === '') row[name] = null;
  return {
    ...(start !== undefined && { start: new Date(start).toISOString() }),
    ...row,
    ...(parentAgent != null && { parentAgent }),
    ...(cacheWriteTokens !== null && { cacheWriteTokens }),
    ...(cacheWrite1hTokens !== null && { cacheWrite1hTokens }),
    ...(quantity !== null && { quantity }),
  };
}

function renderTime(date: Date): string {
  return date.toISOString().replace('Z', '000Z');
}

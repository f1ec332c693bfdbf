import { ArrayMaxSize, ArrayUnique, IsArray, IsIn, IsOptional } from 'class-validator';
import { Id, Instant, Text } from '#contracts/billing/fields.js';
import type { EndedRequest } from '#contracts/gateway.js';
import { parseRequestName } from '#contracts/rules/request-id.js';
import type { JournalReads } from '#database/journal-reads.js';
import { Prisma, type PrismaClient } from '#database/prisma-client.js';
import { PanelError } from '../errors/panel-error.js';
import type { TrafficGroup, TrafficOutcome, TrafficReply, TrafficRow, TrafficStep, TrafficSums } from '../shapes/overview.js';
import { computePercentiles } from './histogram.js';
import { readGaps } from './recording.js';
import { type RefusalFilters, type RefusalPage, type RefusalPlace, readRefusals } from './refusals.js';
import { findSpans, type TrafficSpan } from './traffic-spans.js';
import { NO_ID } from './write-requests.js';

/** A request id with its time, a UUIDv7. */
const REQUEST_ID = /^req_([0-9a-f]{12})7/;

/** Reads what was recorded. */
export class Activity {
  constructor(private readonly reads: JournalReads) {}

  /** @throws {PanelError} `invalid_request` for the range. */
  traffic(query: TrafficQuery, reader: string): Promise<TrafficReply> {
    return this.reads.read(reader, ['traffic', query], (prisma) => queryTraffic(prisma, query));
  }

  /** Returns a request, by its id or that of its reply, as its gateway reported it; undefined when it is not recorded. */
  async show(id: string, reader: string): Promise<(EndedRequest & { accountId: string }) | undefined> {
    const place = findPlace(parseRequestName(id)?.requestId ?? '');
    if (place === undefined) return undefined;
    const where = { receivedAt_requestId: place };
    const row = await this.reads.read(reader, ['activity', place], (prisma) => prisma.activityRequest.findUnique({ where }));
    return row ? { ...(row.details as unknown as EndedRequest), accountId: row.accountId } : undefined;
  }

  /** Returns the recorded ones of some requests, by id. */
  async find(requestIds: readonly string[], reader: string): Promise<Map<string, EndedRequest>> {
    const places = requestIds.flatMap((requestId) => findPlace(requestId) ?? []);
    if (places.length === 0) return new Map();
    const rows = await this.reads.read(reader, ['activities', places], (prisma) =>
      prisma.activityRequest.findMany({ where: { OR: places }, select: { requestId: true, details: true } }),
    );
    return new Map(rows.map(({ requestId, details }) => [requestId, details as unknown as EndedRequest]));
  }

  /** Returns one page of refused requests, newest first. */
  refusals(filters: RefusalFilters, after: RefusalPlace | undefined, limit: number, reader: string): Promise<RefusalPage> {
    return this.reads.read(reader, ['refusals', filters, after, limit], (prisma) => readRefusals(prisma, filters, after, limit));
  }
}

/** Returns the key of a request's row. Undefined for an id without a time: it is not recorded. */
function findPlace(requestId: string): { receivedAt: Date; requestId: string } | undefined {
  const [, time] = REQUEST_ID.exec(requestId) ?? [];
  return time === undefined ? undefined : { receivedAt: new Date(Number.parseInt(time, 16)), requestId };
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const RANGE_MAX_MS = 366 * 24 * HOUR_MS;
/** Sums of one reply: a month of hours by model, with all their percentiles. */
const SUMS_MAX = 100_000;

/**
 * Counts the requests of one account or all, with percentiles of their times, from `from` to before `to`.
 * @throws {PanelError} `invalid_request` for a range that is empty, too long, or has too many rows.
 */
async function queryTraffic(prisma: PrismaClient, query: TrafficQuery, now = new Date()): Promise<TrafficReply> {
  const { from, to } = parseRange(query, now);
  // One after the other: a read has one connection.
  const spans = await findSpans(prisma, query.step, from, to);
  const sums = await prisma.$queryRaw<Sum[]>(summing(query, spans));
  const gaps = await readGaps(prisma, from, to, now);
  if (sums.length > SUMS_MAX)
    throw new PanelError('invalid_request', 'These are too many rows: use a shorter time range.', { param: 'from' });
  return { from: from.toISOString(), to: to.toISOString(), total: sumTotal(sums), rows: toRows(sums), gaps };
}

function parseRange({ from, to, step }: TrafficQuery, now: Date): { from: Date; to: Date } {
  const unitMs = step === 'minute' ? MINUTE_MS : HOUR_MS;
  const start = new Date(Math.floor(Date.parse(from) / unitMs) * unitMs);
  const end = to === undefined ? now : new Date(to);
  if (start >= end) throw new PanelError('invalid_request', 'to must be later than from.', { param: 'to' });
  if (end.getTime() - start.getTime() > RANGE_MAX_MS)
    throw new PanelError('invalid_request', 'A query covers at most 366 days.', { param: 'from' });
  return { from: start, to: end };
}

/** Requests of one group with one value of a property. */
interface Sum {
  start?: Date;
  accountId?: string;
  projectId?: string;
  keyId?: string;
  model?: string;
  property: 'outcome' | 'first-content' | 'duration';
  value: string;
  requests: number;
}

const COLUMNS: Record<TrafficGroup, Prisma.Sql> = {
  account: Prisma.sql`account_id AS "accountId"`,
  project: Prisma.sql`project_id AS "projectId"`,
  key: Prisma.sql`key_id AS "keyId"`,
  model: Prisma.sql`model`,
};

function summing({ accountId, projectId, keyId, model, step, groupBy = [] }: TrafficQuery, spans: readonly TrafficSpan[]): Prisma.Sql {
  const time = step === 'day' ? Prisma.sql`date_trunc('day', at, 'UTC') AS start` : Prisma.sql`at AS start`;
  const groups = TRAFFIC_GROUPS.filter((group) => groupBy.includes(group)).map((group) => COLUMNS[group]);
  const columns = [...(step ? [time] : []), ...groups, Prisma.sql`property`, Prisma.sql`value`];
  const filters = [
    ...(accountId ? [Prisma.sql`account_id = ${accountId}::uuid`] : []),
    ...(projectId ? [Prisma.sql`project_id = ${projectId}::uuid`] : []),
    ...(keyId ? [Prisma.sql`key_id = ${keyId}::uuid`] : []),
    ...(model ? [Prisma.sql`model = ${model}`] : []),
  ];
  // Each with the filters: sums of an account are read by the index of each table.
  const traffic = spans.map(
    ({ table, from, to }) => Prisma.sql`
      SELECT account_id, at, project_id, key_id, model, property, value, requests FROM ${Prisma.raw(`activity.${table}`)}
      WHERE ${Prisma.join([Prisma.sql`at >= ${from} AND at < ${to}`, ...filters], ' AND ')}`,
  );
  const positions = Prisma.raw(columns.map((_, at) => at + 1).join(', '));
  return Prisma.sql`
    SELECT ${Prisma.join(columns)}, sum(requests)::float8 AS requests
    FROM (${Prisma.join(traffic, ' UNION ALL ')}) AS traffic GROUP BY ${positions} LIMIT ${SUMS_MAX + 1}`;
}

function toRows(sums: readonly Sum[]): TrafficRow[] {
  const groups = Map.groupBy(sums, ({ property: _, value: __, requests: ___, ...group }) => JSON.stringify(group));
  const rows = [...groups.values()].map(toRow);
  return rows.sort((one, other) => (one.start ?? '').localeCompare(other.start ?? '') || other.requests - one.requests);
}

/** Returns the row of the sums of one group. */
function toRow(sums: readonly Sum[]): TrafficRow {
  const { property: _, value: __, requests: ___, start, ...group } = sums[0] as Sum;
  const known = Object.entries(group).map(([name, value]) => [name, value === NO_ID || value === '' ? null : value]);
  return { ...(start && { start: start.toISOString() }), ...(Object.fromEntries(known) as Partial<TrafficRow>), ...sumTotal(sums) };
}

/** Adds the sums of any number of groups. */
function sumTotal(sums: readonly Sum[]): TrafficSums {
  const byValue = (wanted: Sum['property']): Map<string, number> => {
    const requests = new Map<string, number>();
    for (const { property, value, requests: more } of sums) {
      if (property === wanted) requests.set(value, (requests.get(value) ?? 0) + more);
    }
    return requests;
  };
  const histogram = (wanted: Sum['property']): Map<number, number> =>
    new Map([...byValue(wanted)].map(([value, requests]) => [Number(value), requests]));
  const outcomes = [...byValue('outcome')].map(([value, requests]) => {
    const [status, code = null] = value.split(' ');
    return { status: Number(status), code, requests };
  });
  return {
    requests: outcomes.reduce((total, { requests }) => total + requests, 0),
    outcomes: outcomes.sort((one, other) => other.requests - one.requests || compareOutcomes(one, other)),
    firstContentMs: computePercentiles(histogram('first-content')),
    durationMs: computePercentiles(histogram('duration')),
  };
}

function compareOutcomes(one: TrafficOutcome, other: TrafficOutcome): number {
  return one.status - other.status || (one.code ?? '').localeCompare(other.code ?? '');
}

const TRAFFIC_STEPS: readonly TrafficStep[] = ['minute', 'hour', 'day'];
const TRAFFIC_GROUPS: readonly TrafficGroup[] = ['account', 'project', 'key', 'model'];

export class TrafficQuery {
  /** Absent: the whole platform. */
  @IsOptional() @Id() accountId?: string;
  /** Start, included. */
  @Instant() from!: string;
  /** End, excluded; at most 366 days after `from`. Default: now. */
  @IsOptional() @Instant() to?: string;
  /** One row per minute, hour or day in UTC. Minutes are kept for two days. Default: one for the whole time. */
  @IsOptional() @IsIn(TRAFFIC_STEPS) step?: TrafficStep;
  /** One row per value of each, separated by commas. Default: all together. */
  @IsOptional() @IsArray() @ArrayMaxSize(4) @ArrayUnique() @IsIn(TRAFFIC_GROUPS, { each: true }) groupBy?: TrafficGroup[];
  /** Only this project, key or model. */
  @IsOptional() @Id() projectId?: string;
  @IsOptional() @Id() keyId?: string;
  @IsOptional() @Text(256) model?: string;
}

import { attributionFilters } from '#contracts/billing/attribution.js';
import type { SettleReason } from '#contracts/billing/holds.js';
import type { RequestListRequest, RequestRow } from '#contracts/billing/requests.js';
import { Prisma } from '#database/prisma-client.js';
import { toUsage, type UsageColumns } from './usage-columns.js';

/** The requests that a list is about. */
export type Filters = Omit<RequestListRequest, 'from' | 'to' | 'limit' | 'cursor' | 'sort' | 'order'> & {
  from?: Date | undefined;
  to?: Date | undefined;
};

/** SQL that applies filters to settlements `s` that were read, with their time `at`. */
interface AppliedFilters {
  /** Columns that the rest needs, each after a comma. */
  columns: Prisma.Sql;
  /** Joins the late settlement `l`, if one may change what is asked. */
  late: Prisma.Sql;
  /** Conditions, each after `AND`. */
  conditions: Prisma.Sql;
}

/** Columns that few questions need are left out, because they would make the reading of the others larger. `key`: what the rows are sorted by. */
export function applyFilters(filters: Filters, key?: SortKey): AppliedFilters {
  const { projectId, keyId, model, upstream, ending, costMinPicoUsd, costMaxPicoUsd, tookMinMs, tookMaxMs } = filters;
  const asked = (...values: unknown[]): boolean => values.some((value) => value !== undefined);
  const when = (value: unknown, sql: Prisma.Sql): Prisma.Sql => (value === undefined ? Prisma.empty : sql);
  const tookMs = Prisma.sql`extract(epoch FROM s.at - coalesce(s.reserved_at, s.at)) * 1000`;
  const attributed = attributionFilters(filters).map(({ dimension, value }) =>
    value === undefined
      ? Prisma.sql`AND s.attribution -> ${dimension}::text IS NOT NULL`
      : Prisma.sql`AND s.attribution ->> ${dimension}::text = ${value}`,
  );
  const columns = new Set([
    ...['project_id', 'key_id', 'model', 'upstream', 'reason'],
    ...(asked(costMinPicoUsd, costMaxPicoUsd) ? ['cost'] : []),
    ...(asked(tookMinMs, tookMaxMs) ? ['reserved_at'] : []),
    ...(attributed.length > 0 ? ['attribution'] : []),
    ...(key?.columns ?? []),
  ]);
  const mayBeLate = key?.mayBeLate || asked(upstream, ending, costMinPicoUsd, costMaxPicoUsd);
  return {
    columns: Prisma.raw([...columns].map((name) => `, s.${name}`).join('')),
    late: mayBeLate ? Prisma.sql`LEFT JOIN billing.late_settlement l ON l.hold_id = s.hold_id` : Prisma.empty,
    conditions: Prisma.sql`
        ${when(projectId, Prisma.sql`AND s.project_id = ${projectId}::uuid`)}
        ${when(keyId, Prisma.sql`AND s.key_id = ${keyId}::uuid`)}
        ${when(model, Prisma.sql`AND s.model = ${model}`)}
        ${when(upstream, Prisma.sql`AND CASE WHEN l.hold_id IS NULL THEN s.upstream ELSE l.upstream END = ${upstream}`)}
        ${when(ending, Prisma.sql`AND coalesce(l.reason, s.reason) = ${ending}`)}
        ${when(costMinPicoUsd, Prisma.sql`AND ${LATEST_COST} >= ${costMinPicoUsd}::numeric`)}
        ${when(costMaxPicoUsd, Prisma.sql`AND ${LATEST_COST} <= ${costMaxPicoUsd}::numeric`)}
        ${when(tookMinMs, Prisma.sql`AND ${tookMs} >= ${tookMinMs}`)}
        ${when(tookMaxMs, Prisma.sql`AND ${tookMs} <= ${tookMaxMs}`)}
        ${Prisma.join([Prisma.empty, ...attributed], ' ')}`,
  };
}

/** Value by which settlements are sorted. */
export interface SortKey {
  /** SQL for a settlement `s` with its time `at` and its late one `l`. It becomes a bigint. */
  value: Prisma.Sql;
  /** Columns that it needs. */
  columns: readonly string[];
  /** True when a late settlement may change it. */
  mayBeLate: boolean;
}

/** Cost of a settlement `s` with its late one `l`. */
export const LATEST_COST = Prisma.sql`s.cost + coalesce(l.due - l.writeoff, 0)`;

/** Selects the rows of a list. `matching` has the `hold_id` and `at` of its settlements. */
export const SETTLED_ROWS = Prisma.sql`
  SELECT to_char(m.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "settledAt", s.hold_id AS "holdId",
    s.request_id AS "requestId", s.account_id AS "accountId", s.project_id AS "projectId", s.key_id AS "keyId", s.model,
    coalesce(s.reserved_at, s.settled_at) AS "reservedAt", s.held::text AS held,
    CASE WHEN l.hold_id IS NULL THEN s.upstream ELSE l.upstream END AS upstream,
    coalesce(l.reason, s.reason) AS reason, (${LATEST_COST})::text AS cost,
    coalesce(l.prompt_tokens, s.prompt_tokens) AS "promptTokens", coalesce(l.cached_tokens, s.cached_tokens) AS "cachedTokens",
    CASE WHEN l.hold_id IS NULL THEN s.cache_write_tokens ELSE l.cache_write_tokens END AS "cacheWriteTokens",
    CASE WHEN l.hold_id IS NULL THEN s.cache_write_1h_tokens ELSE l.cache_write_1h_tokens END AS "cacheWrite1hTokens",
    CASE WHEN l.hold_id IS NULL THEN s.tier ELSE l.tier END AS tier,
    CASE WHEN l.hold_id IS NULL THEN s.quantity ELSE l.quantity END AS quantity,
    coalesce(l.output_tokens, s.output_tokens) AS "outputTokens", coalesce(l.reasoning_tokens, s.reasoning_tokens) AS "reasoningTokens",
    CASE WHEN l.hold_id IS NULL THEN s.prompt_source ELSE l.prompt_source END AS "promptSource",
    CASE WHEN l.hold_id IS NULL THEN s.output_source ELSE l.output_source END AS "outputSource"
  FROM matching m JOIN billing.settlement s ON s.hold_id = m.hold_id LEFT JOIN billing.late_settlement l ON l.hold_id = m.hold_id`;

/** A place between two settlements. `settledAt` has microseconds. */
export interface Position {
  settledAt: string;
  holdId: string;
}

export interface SettledRow extends Position, UsageColumns {
  requestId: string;
  accountId: string;
  projectId: string;
  keyId: string;
  model: string;
  reservedAt: string;
  held: string;
  upstream: string | null;
  reason: string;
  cost: string;
}

export function renderSettled(row: SettledRow): RequestRow {
  return {
    requestId: row.requestId,
    holdId: row.holdId,
    accountId: row.accountId,
    projectId: row.projectId,
    keyId: row.keyId,
    model: row.model,
    upstream: row.upstream,
    reservedAt: new Date(row.reservedAt).toISOString(),
    heldPicoUsd: row.held,
    settledAt: new Date(row.settledAt).toISOString(),
    ending: row.reason as SettleReason,
    usage: toUsage(row),
    costPicoUsd: row.cost,
  };
}

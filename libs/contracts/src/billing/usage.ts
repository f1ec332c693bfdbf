import { ArrayMaxSize, ArrayUnique, IsArray, IsIn, IsInt, IsOptional, Matches, Max, Min } from 'class-validator';
import { EmptyRequest } from '../catalog.js';
import { Endpoint } from '../endpoint.js';
import { TAG_NAME } from '../rules/bounds.js';
import { CHILD_PATH } from '../rules/child-path.js';
import { Id, Instant, type Paged, Text } from './fields.js';
import { ALL_SETTLE_REASONS, type SettleReason } from './holds.js';

/** Groups that come from the attribution of requests. They are in no rollup, since clients choose their values. */
export const ATTRIBUTION_GROUPS = ['user', 'tag', 'client', 'session', 'agent', 'child'] as const;
export type AttributionGroup = (typeof ATTRIBUTION_GROUPS)[number];
/** Fields that usage can be grouped by. `ending` is the reason of the settlement. */
export const USAGE_GROUPS = ['account', 'project', 'key', 'model', 'upstream', 'ending', ...ATTRIBUTION_GROUPS] as const;
/** Longest time of usage by user, tag, client, session, agent or child key: it is read from the journal. */
export const ATTRIBUTED_DAYS_MAX = 31;
export type UsageGroup = (typeof USAGE_GROUPS)[number];
/** Hours and days in UTC. */
export const USAGE_STEPS = ['hour', 'day'] as const;
export type UsageStep = (typeof USAGE_STEPS)[number];

export class UsageQueryRequest {
  /** Default: all accounts. */
  @IsOptional() @Id() accountId?: string;
  /** Start, included. */
  @Instant() from!: string;
  /** End, excluded; at most 366 days after `from`. Default: now. */
  @IsOptional() @Instant() to?: string;
  /** One row per hour or day. Default: one for the whole time. */
  @IsOptional() @IsIn(USAGE_STEPS) step?: UsageStep;
  /**
   * One row per value. Default: all together. `user`, `tag`, `client`, `session`, `agent` and `child` need an account and cover at most 31 days.
   */
  @IsOptional() @IsArray() @ArrayMaxSize(6) @ArrayUnique() @IsIn(USAGE_GROUPS, { each: true }) groupBy?: UsageGroup[];
  /** Name of the tag to group by. */
  @IsOptional() @Matches(TAG_NAME) tag?: string;
  /** Only this project, key, model, upstream or ending. */
  @IsOptional() @Id() projectId?: string;
  @IsOptional() @Id() keyId?: string;
  /** Only this child key and those below it. It needs an account and covers at most 31 days. */
  @IsOptional() @Matches(CHILD_PATH) child?: string;
  @IsOptional() @Text(256) model?: string;
  @IsOptional() @Text(256) upstream?: string;
  @IsOptional() @IsIn(ALL_SETTLE_REASONS) ending?: SettleReason;
  /** Rows on one page. Default 100. */
  @IsOptional() @IsInt() @Min(1) @Max(1_000) limit?: number;
  /** `nextCursor` of the page before, with the same question. */
  @IsOptional() @Text(2_000) cursor?: string;
}

/**
 * Usage and cost of one group; fields that it is not grouped by are absent. A late settlement counts at its own time: it takes the reaper's
 * bill from the ending `lease-expired` and adds the whole request to its own ending and upstream. Counts and cost can be negative.
 */
export interface UsageRow {
  /** Start of the hour or day. */
  start?: string;
  accountId?: string;
  projectId?: string;
  keyId?: string;
  model?: string;
  /** Null: the request reached none. */
  upstream?: string | null;
  ending?: SettleReason;
  /** These six are null for requests that did not name one. */
  user?: string | null;
  tag?: string | null;
  client?: string | null;
  session?: string | null;
  agent?: string | null;
  /** The child key with its chain: see `CHILD_PATH`. */
  child?: string | null;
  /** The agent that started `agent`. Absent: none is known, or usage is not by agent. */
  parentAgent?: string;
  /** Requests that ended in this time, at any cost. */
  requests: number;
  /** Requests with a prompt or output count that the upstream did not report. */
  estimatedRequests: number;
  promptTokens: number;
  /** Part of the prompt tokens, read from caches of upstreams. */
  cachedTokens: number;
  /** Part of the prompt tokens, written to caches of upstreams for 5 minutes. Absent: none, as the next one. */
  cacheWriteTokens?: number;
  /** As `cacheWriteTokens`, for an hour. */
  cacheWrite1hTokens?: number;
  outputTokens: number;
  /** Part of the output tokens. */
  reasoningTokens: number;
  /** Units of items of services, such as pages. Absent: none. */
  quantity?: number;
  costPicoUsd: string;
  /** Plan money that requests held beyond the end of its grant and did not use. Not part of the cost. */
  forfeitedPicoUsd: string;
}

export interface UsageQueryReply extends Paged {
  /** The range in UTC. The first page fixes `to` for the following ones. */
  from: string;
  to: string;
  /** In the order of time, account, project, key, model, upstream, ending, user, tag, client, session, agent and child key, as far as the usage is split by them. */
  rows: UsageRow[];
}

export const usageQuery = new Endpoint<UsageQueryRequest, UsageQueryReply>('billing.v1.usage.query', UsageQueryRequest, {
  about:
    'Requests, tokens and costs of one account or all, by time, account, project, key, model, upstream, ending, user, tag, client, session, agent and child key',
});

export interface UsageRebuildReply {
  /** Rows of the rollup by hour. */
  hours: number;
  /** Rows of the rollup by day. */
  days: number;
  /** Earlier rows stay as they were, because requests of their time are detached. Null: all were made anew. */
  from: string | null;
  milliseconds: number;
}

/** Queries stay exact meanwhile. Takes seconds for each million settlements: call with a timeout of minutes. */
export const usageRebuild = new Endpoint<EmptyRequest, UsageRebuildReply>('billing.v1.usage.rebuild', EmptyRequest, {
  about: 'Makes the rollups of usage anew from the journal',
  isRecorded: true,
});

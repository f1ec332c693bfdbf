import { ArrayMaxSize, ArrayUnique, IsArray, IsIn, IsInt, IsOptional, Max, Min } from 'class-validator';
import { Endpoint } from '../endpoint.js';
import { Id, Instant, type Paged, Text } from './fields.js';

/** Fields that usage can be grouped by. */
export const USAGE_GROUPS = ['project', 'key', 'model'] as const;
export type UsageGroup = (typeof USAGE_GROUPS)[number];
/** Hours and days in UTC. */
export const USAGE_STEPS = ['hour', 'day'] as const;
export type UsageStep = (typeof USAGE_STEPS)[number];

export class UsageQueryRequest {
  @Id() accountId!: string;
  /** Start, included. */
  @Instant() from!: string;
  /** End, excluded; at most 366 days after `from`. Default: now. */
  @IsOptional() @Instant() to?: string;
  /** One row per hour or day. Default: one for the whole time. */
  @IsOptional() @IsIn(USAGE_STEPS) step?: UsageStep;
  /** One row per value. Default: all together. */
  @IsOptional() @IsArray() @ArrayMaxSize(3) @ArrayUnique() @IsIn(USAGE_GROUPS, { each: true }) groupBy?: UsageGroup[];
  /** Only this project, key or model. */
  @IsOptional() @Id() projectId?: string;
  @IsOptional() @Id() keyId?: string;
  @IsOptional() @Text(256) model?: string;
  /** Rows on one page. Default 100. */
  @IsOptional() @IsInt() @Min(1) @Max(1_000) limit?: number;
  /** `nextCursor` of the page before, with the same question. */
  @IsOptional() @Text(2_000) cursor?: string;
}

/**
 * Usage and cost of one group; fields that it is not grouped by are absent. A late settlement counts at its own time, as the difference to
 * the bill of the reaper: counts and cost can be negative.
 */
export interface UsageRow {
  /** Start of the hour or day. */
  start?: string;
  projectId?: string;
  keyId?: string;
  model?: string;
  /** Requests that ended in this time, at any cost. */
  requests: number;
  /** Requests with a prompt or output count that the upstream did not report. */
  estimatedRequests: number;
  promptTokens: number;
  /** Part of the prompt tokens. */
  cachedTokens: number;
  outputTokens: number;
  /** Part of the output tokens. */
  reasoningTokens: number;
  costPicoUsd: string;
  /** Plan money that requests held beyond the end of its grant and did not use. Not part of the cost. */
  forfeitedPicoUsd: string;
}

export interface UsageQueryReply extends Paged {
  /** The range in UTC. The first page fixes `to` for the following ones. */
  from: string;
  to: string;
  /** In the order of time, project, key and model, as far as the usage is split by them. */
  rows: UsageRow[];
}

export const usageQuery = new Endpoint<UsageQueryRequest, UsageQueryReply>(
  'billing.v1.usage.query',
  UsageQueryRequest,
  'Requests, tokens and costs of an account, by time, project, key and model',
);

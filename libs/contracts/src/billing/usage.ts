import { ArrayMaxSize, ArrayUnique, IsArray, IsIn, IsInt, IsOptional, Max, Min } from 'class-validator';
import { Endpoint } from '../endpoint.js';
import { Id, Instant, Text } from './fields.js';

/** What usage can be split by. */
export const USAGE_GROUPS = ['project', 'key', 'model'] as const;
export type UsageGroup = (typeof USAGE_GROUPS)[number];
/** Hours and days of UTC. */
export const USAGE_STEPS = ['hour', 'day'] as const;
export type UsageStep = (typeof USAGE_STEPS)[number];

export class UsageQueryRequest {
  @Id() accountId!: string;
  /** From this time on. */
  @Instant() from!: string;
  /** Up to this time, which is not included; at most 366 days after `from`. Default: now. */
  @IsOptional() @Instant() to?: string;
  /** A row an hour or a day. Default: one for the whole time. */
  @IsOptional() @IsIn(USAGE_STEPS) step?: UsageStep;
  /** A row for each of them. Default: all together. */
  @IsOptional() @IsArray() @ArrayMaxSize(3) @ArrayUnique() @IsIn(USAGE_GROUPS, { each: true }) groupBy?: UsageGroup[];
  /** Only of this project, key or model. */
  @IsOptional() @Id() projectId?: string;
  @IsOptional() @Id() keyId?: string;
  @IsOptional() @Text(256) model?: string;
  /** Rows on one page. Default 100. */
  @IsOptional() @IsInt() @Min(1) @Max(1_000) limit?: number;
  /** `nextCursor` of the page before, with the same question. */
  @IsOptional() @Text(2_000) cursor?: string;
}

/**
 * What was used and charged. Who and what it is not split by is absent. A request that was settled late counts when that came, as the
 * difference to what had been billed: tokens and cost of a row can be below zero.
 */
export interface UsageRow {
  /** The beginning of the hour or day. */
  start?: string;
  projectId?: string;
  keyId?: string;
  model?: string;
  /** Requests that ended in this time, whatever they cost. */
  requests: number;
  /** Those of them with a count, of prompt or output, that no upstream reported. */
  estimatedRequests: number;
  promptTokens: number;
  /** Part of the prompt tokens. */
  cachedTokens: number;
  outputTokens: number;
  /** Part of the output tokens. */
  reasoningTokens: number;
  costPicoUsd: string;
  /** What requests had set aside of a plan that ended before they did, and did not need: nobody's any more. Beside the cost. */
  forfeitedPicoUsd: string;
}

export interface UsageQueryReply {
  /** What was asked for, in UTC. The first page settles `to` for all that follow it. */
  from: string;
  to: string;
  /** In the order of time, project, key and model, as far as the usage is split by them. */
  rows: UsageRow[];
  /** Null: this was the last page. */
  nextCursor: string | null;
}

export const usageQuery = new Endpoint<UsageQueryRequest, UsageQueryReply>(
  'billing.v1.usage.query',
  UsageQueryRequest,
  'Requests, tokens and costs of an account, by time, project, key and model',
);

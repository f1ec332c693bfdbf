import { ArrayMaxSize, ArrayUnique, IsArray, IsIn, IsInt, IsOptional, Matches, Max, Min } from 'class-validator';
import { Endpoint } from '../endpoint.js';
import { TAG_NAME } from '../rules/bounds.js';
import { CHILD_DEPTH_MAX, CHILD_PATH } from '../rules/child-path.js';
import { type Attribution, AttributionOf } from './attribution.js';
import type { Budget } from './budgets.js';
import { Id, Instant, PICO_USD, Text } from './fields.js';
import type { KeyRow } from './keys.js';
import type { ModelLimit } from './model-limits.js';
import { type BilledRequest, RequestShowRequest } from './requests.js';
import { ATTRIBUTION_GROUPS, USAGE_STEPS, type UsageQueryReply, type UsageStep } from './usage.js';

/** Subjects for the owner of an API key. Each answers for one key only, so that the gateway needs no right to read all. */

export class OwnKeyShowRequest {
  @Id() keyId!: string;
  /** Names of a request. The reply then has the budgets of its user and tags too, with what these have used. Absent: none. */
  @IsOptional() @AttributionOf() attribution?: Attribution;
  /** For a `child` of the attribution: as in `ReserveRequest`. Absent: the limits of the budgets. */
  @IsOptional() @IsArray() @ArrayMaxSize(CHILD_DEPTH_MAX) @Matches(PICO_USD, { each: true }) childLimitsPicoUsd?: string[];
}

export interface OwnKey extends KeyRow {
  accountId: string;
  /** The tightest of each limit of the key, its project and its account. */
  tightest: { requestsPerMinuteMax: number; tokensPerMinuteMax: number | null; concurrencyMax: number };
  /** Limits by model of its project. Those of the key are in `modelLimits`. Absent: none. */
  projectModelLimits?: ModelLimit[];
  /** Limits by model of its account. Absent: none. */
  accountModelLimits?: ModelLimit[];
  /** Budgets that requests of the key count against: those of its account, its project and itself. One of users or tags has a `value`. */
  budgets: Budget[];
}

export const ownKeyShow = new Endpoint<OwnKeyShowRequest, OwnKey>('billing.v1.own-key.show', OwnKeyShowRequest, {
  about: 'One key with its limits and budgets',
  isRepeatable: true,
});

/** Fields that the usage of a key can be grouped by. */
export const OWN_USAGE_GROUPS = ['model', 'upstream', 'ending', ...ATTRIBUTION_GROUPS] as const;
export type OwnUsageGroup = (typeof OWN_USAGE_GROUPS)[number];

/** The fields of `UsageQueryRequest` that make sense for one key. */
export class OwnKeyUsageRequest {
  @Id() keyId!: string;
  /** Only of this child key and those below it. Covers at most 31 days. Absent: of the key with all its child keys. */
  @IsOptional() @Matches(CHILD_PATH) child?: string;
  @Instant() from!: string;
  @IsOptional() @Instant() to?: string;
  @IsOptional() @IsIn(USAGE_STEPS) step?: UsageStep;
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(OWN_USAGE_GROUPS.length)
  @ArrayUnique()
  @IsIn(OWN_USAGE_GROUPS, { each: true })
  groupBy?: OwnUsageGroup[];
  @IsOptional() @Matches(TAG_NAME) tag?: string;
  @IsOptional() @IsInt() @Min(1) @Max(1_000) limit?: number;
  @IsOptional() @Text(2_000) cursor?: string;
}

export const ownKeyUsage = new Endpoint<OwnKeyUsageRequest, UsageQueryReply>('billing.v1.own-key.usage', OwnKeyUsageRequest, {
  about: 'Requests, tokens and costs of one key, by time, model, upstream, ending, user, tag, client, session, agent and child key',
  isRepeatable: true,
});

export class OwnKeyRequestRequest extends RequestShowRequest {
  @Id() keyId!: string;
  /** Only a request of this child key or one below it. Absent: any of the key. */
  @IsOptional() @Matches(CHILD_PATH) child?: string;
}

/** Replies `not_found` for the request of another key, as for an unknown one. */
export const ownKeyRequest = new Endpoint<OwnKeyRequestRequest, BilledRequest>('billing.v1.own-key.request', OwnKeyRequestRequest, {
  about: 'Hold, price, usage and settlement of one request of a key',
  isRepeatable: true,
});

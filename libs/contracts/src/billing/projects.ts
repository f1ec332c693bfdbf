import { IsBoolean, IsInt, IsOptional, Max, Min } from 'class-validator';
import { Endpoint } from '../endpoint.js';
import { CONCURRENCY_MAX, MODEL_LIMITS_MAX, NAME_LENGTH_MAX, REQUESTS_PER_MINUTE_MAX, TOKENS_MAX } from '../rules/bounds.js';
import { ListRequest } from './accounts.js';
import { TagNames } from './attribution.js';
import { Clearable, Id, Nested, NestedList, type Paged, Text } from './fields.js';
import { ModelLimit, type OperatorLimits } from './model-limits.js';
import { ProjectPolicy } from './project-policy.js';

export class ProjectCreateRequest {
  /** Repeating it with the same id makes one project. Default: a new id. */
  @IsOptional() @Id() projectId?: string;
  @Id() accountId!: string;
  @Text(NAME_LENGTH_MAX) name!: string;
  @IsOptional() @IsInt() @Min(1) @Max(REQUESTS_PER_MINUTE_MAX) requestsPerMinuteMax?: number;
  @IsOptional() @IsInt() @Min(1) @Max(CONCURRENCY_MAX) concurrencyMax?: number;
  /** Default: no limit. */
  @IsOptional() @IsInt() @Min(1) @Max(TOKENS_MAX) tokensPerMinuteMax?: number;
  /** Names of `metadata` pairs of requests that are their tags. Default: none. */
  @IsOptional() @TagNames() tags?: string[];
}

export interface Project {
  projectId: string;
  accountId: string;
  name: string;
  enabled: boolean;
  requestsPerMinuteMax: number;
  concurrencyMax: number;
  /** Null: no limit. */
  tokensPerMinuteMax: number | null;
  /** Limits by model. Absent: none. */
  modelLimits?: ModelLimit[];
  /** The most that the operator allows of the limits of tokens and by model. Absent: they are all the operator's, and a customer may lower them. */
  operatorLimits?: OperatorLimits;
  /** Names of `metadata` pairs of requests that are their tags. */
  tags: string[];
  /** The policy that is asked before its requests make their holds. Absent: none. */
  policy?: ProjectPolicy;
  createdAt: string;
  /** Source of the tenants file that owns it: the next apply takes back other changes. Absent: none does. */
  managedBy?: string;
}

/**
 * Replies `conflict` when the account has as many projects as it may. When a customer adds one, an account that has no limit of its own gets
 * the sum of the limits that the operator has set for its projects.
 */
export const projectCreate = new Endpoint<ProjectCreateRequest, Project>('billing.v1.project.create', ProjectCreateRequest, {
  about: 'Adds a project to an account',
  isRecorded: true,
});

export class ProjectUpdateRequest {
  @Id() projectId!: string;
  @IsOptional() @Text(NAME_LENGTH_MAX) name?: string;
  @IsOptional() @IsBoolean() enabled?: boolean;
  @IsOptional() @IsInt() @Min(1) @Max(REQUESTS_PER_MINUTE_MAX) requestsPerMinuteMax?: number;
  @IsOptional() @IsInt() @Min(1) @Max(CONCURRENCY_MAX) concurrencyMax?: number;
  /** Null removes the limit. */
  @Clearable() @IsInt() @Min(1) @Max(TOKENS_MAX) tokensPerMinuteMax?: number | null;
  /** Replaces the limits by model. Empty: none. */
  @IsOptional() @NestedList(() => ModelLimit, MODEL_LIMITS_MAX) modelLimits?: ModelLimit[];
  /** Names of `metadata` pairs of requests that are their tags. */
  @IsOptional() @TagNames() tags?: string[];
  /** The policy that is asked before its requests make their holds, whole. Null removes it. */
  @Clearable() @Nested(() => ProjectPolicy) policy?: ProjectPolicy | null;
}

/** Replies `permission_denied` for a limit above the operator's, or another policy, when a customer sets it. */
export const projectUpdate = new Endpoint<ProjectUpdateRequest, Project>('billing.v1.project.update', ProjectUpdateRequest, {
  about: 'Changes limits, name, tags, policy or state',
  isRecorded: true,
});

export interface ProjectListReply extends Paged {
  projects: Project[];
}

export const projectList = new Endpoint<ListRequest, ProjectListReply>('billing.v1.project.list', ListRequest, {
  about: 'Projects of one account or all, oldest first',
});

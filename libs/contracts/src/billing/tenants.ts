import { ArrayMaxSize, IsArray, IsBoolean, IsIn, IsInt, IsOptional, Matches, Max, Min } from 'class-validator';
import { Endpoint } from '../endpoint.js';
import {
  ACTIVE_KEYS_MAX,
  CONCURRENCY_MAX,
  MODEL_LIMITS_MAX,
  MONTH_START_MAX,
  NAME_LENGTH_MAX,
  NOTE_LENGTH_MAX,
  PROJECTS_MAX,
  REASON_LENGTH_MAX,
  REQUESTS_PER_MINUTE_MAX,
  TOKENS_MAX,
} from '../rules/bounds.js';
import { AttributionValue, DIMENSION, NormalizedValue, TagNames } from './attribution.js';
import { BUDGET_PERIODS, type BudgetPeriod } from './budgets.js';
import {
  Clearable,
  Id,
  Instant,
  ModelPatterns,
  Nested,
  NestedList,
  Networks,
  type Paged,
  PRICE_PLAN_LENGTH_MAX,
  Text,
  Usd,
} from './fields.js';
import { ModelLimit } from './model-limits.js';
import { PLAN_PERIODS, type PlanPeriod } from './plans.js';
import { ProjectPolicy } from './project-policy.js';
import { WEBHOOK_FORMATS, type WebhookFormat } from './webhooks.js';

/** Entries of one list of a tenants file. */
const ENTRIES_MAX = 1_000;
/** Accounts of one plan: their rows are read together. */
export const PLANNED_ACCOUNTS_MAX = 100;
/** Keys that a new account may get from one file. */
const NEW_KEYS_MAX = 10_000;
const SHA256_HEX = /^[0-9a-f]{64}$/;

/** A budget of the account, project or key that has it in its list. One of each period, unit, dimension and value. */
export class TenantBudget {
  @IsIn(BUDGET_PERIODS) period!: BudgetPeriod;
  /** Most that the requests of a period may cost: dollars as a text. Give this or `limitTokens`. */
  @IsOptional() @Usd() limitUsd?: string;
  /** Most tokens that the requests of a period may use. */
  @IsOptional() @IsInt() @Min(0) @Max(Number.MAX_SAFE_INTEGER) limitTokens?: number;
  /** IANA name of the zone in which days, weeks and months begin. Default: UTC. */
  @IsOptional() @Text(64) timeZone?: string;
  /** Day on which weeks (1: Monday, to 7) or months (1 to 28) begin. Default: 1. */
  @IsOptional() @IsInt() @Min(1) @Max(MONTH_START_MAX) startDay?: number;
  /** Percentages of the limit that are events. Default: 50, 80 and 100. Empty: none. */
  @IsOptional() @IsArray() @ArrayMaxSize(10) @IsInt({ each: true }) @Min(1, { each: true }) @Max(100, { each: true }) thresholds?: number[];
  /** `user`, `client`, `session`, `agent`, `child` or `tag:<name>`: each of its values has the limit for itself. `child`: keys may make child keys. */
  @IsOptional() @Matches(DIMENSION) dimension?: string;
  /** With `dimension`: this value alone. */
  @IsOptional() @NormalizedValue() @AttributionValue() value?: string;
}

/** An API key, by its name in the project. Its secret is never in the file. */
export class TenantKey {
  @Text(NAME_LENGTH_MAX) name!: string;
  @Clearable() @Text(NOTE_LENGTH_MAX) note?: string | null;
  /** A moment from which on the key is refused. A key whose end has passed is not made again. */
  @Clearable() @Instant() expiresAt?: string | null;
  /** True: the key is refused until it is enabled again. */
  @IsOptional() @IsBoolean() disabled?: boolean;
  /** Patterns such as `gpt-*` of the models that the key may use. Empty: all models. */
  @IsOptional() @ModelPatterns() models?: string[];
  /** Addresses and networks of the clients that may use the key. Empty: any. */
  @IsOptional() @Networks() networks?: string[];
  /** Limits of the key, beside those of its project. Null: none. */
  @Clearable() @IsInt() @Min(1) @Max(REQUESTS_PER_MINUTE_MAX) requestsPerMinuteMax?: number | null;
  @Clearable() @IsInt() @Min(1) @Max(CONCURRENCY_MAX) concurrencyMax?: number | null;
  @Clearable() @IsInt() @Min(1) @Max(TOKENS_MAX) tokensPerMinuteMax?: number | null;
  @IsOptional() @NestedList(() => ModelLimit, MODEL_LIMITS_MAX) modelLimits?: ModelLimit[];
  @IsOptional() @NestedList(() => TenantBudget, ENTRIES_MAX) budgets?: TenantBudget[];
}

/** A project, by its name in the account. */
export class TenantProject {
  /** Needed where two projects of the account have this name, and to change the name. */
  @IsOptional() @Id() projectId?: string;
  @Text(NAME_LENGTH_MAX) name!: string;
  @IsOptional() @IsBoolean() enabled?: boolean;
  @IsOptional() @IsInt() @Min(1) @Max(REQUESTS_PER_MINUTE_MAX) requestsPerMinuteMax?: number;
  @IsOptional() @IsInt() @Min(1) @Max(CONCURRENCY_MAX) concurrencyMax?: number;
  /** Null: no limit. */
  @Clearable() @IsInt() @Min(1) @Max(TOKENS_MAX) tokensPerMinuteMax?: number | null;
  @IsOptional() @NestedList(() => ModelLimit, MODEL_LIMITS_MAX) modelLimits?: ModelLimit[];
  /** Names of `metadata` pairs of requests that are their tags. */
  @IsOptional() @TagNames() tags?: string[];
  /** The policy that is asked before its requests make their holds, whole. Null: none. */
  @Clearable() @Nested(() => ProjectPolicy) policy?: ProjectPolicy | null;
  @IsOptional() @NestedList(() => TenantBudget, ENTRIES_MAX) budgets?: TenantBudget[];
  @IsOptional() @NestedList(() => TenantKey, ENTRIES_MAX) keys?: TenantKey[];
}

/** A webhook for the events of the account, by its URL. */
export class TenantWebhook {
  /** With https; `mailto:` and an address for the format `mail`. */
  @Text(2_048) url!: string;
  @IsOptional() @IsIn(WEBHOOK_FORMATS) format?: WebhookFormat;
  @IsOptional() @IsBoolean() allowPrivateNetwork?: boolean;
  @IsOptional() @IsBoolean() muted?: boolean;
}

/** Money that is granted in each period, and ends with it. */
export class TenantCredit {
  /** Amount of each grant: dollars as a text. */
  @Usd() usd!: string;
  @IsIn(PLAN_PERIODS) period!: PlanPeriod;
  /** IANA name of the zone in which days, weeks and months begin. Default: UTC. */
  @IsOptional() @Text(64) timeZone?: string;
}

/** Wanted state of an account. A field that is absent stays as it is, and so does what a list that is absent would name. */
export class TenantAccount {
  /** Needed where two accounts have this name, and to change the name. */
  @IsOptional() @Id() accountId?: string;
  @Text(NAME_LENGTH_MAX) name!: string;
  /** `frozen`: its requests are refused. An account that the auditor has frozen becomes active again with `active`. */
  @IsOptional() @IsIn(['active', 'frozen']) status?: 'active' | 'frozen';
  @IsOptional() @Text(REASON_LENGTH_MAX) statusReason?: string;
  /** Balance below which the event `balance-low` is published: dollars as a text. `"0"`: never. */
  @IsOptional() @Usd() lowBalanceUsd?: string;
  /** Credit line: dollars as a text. `"0"`: none. */
  @IsOptional() @Usd() creditLineUsd?: string;
  /** Price plan of the catalog. Null: list prices. */
  @Clearable() @Text(PRICE_PLAN_LENGTH_MAX) pricePlan?: string | null;
  /** Limits that all projects share, beside their own. Null: none. */
  @Clearable() @IsInt() @Min(1) @Max(REQUESTS_PER_MINUTE_MAX) requestsPerMinuteMax?: number | null;
  @Clearable() @IsInt() @Min(1) @Max(CONCURRENCY_MAX) concurrencyMax?: number | null;
  @Clearable() @IsInt() @Min(1) @Max(TOKENS_MAX) tokensPerMinuteMax?: number | null;
  @IsOptional() @NestedList(() => ModelLimit, MODEL_LIMITS_MAX) modelLimits?: ModelLimit[];
  /** Most projects, and most keys that are neither revoked nor expired. */
  @IsOptional() @IsInt() @Min(1) @Max(PROJECTS_MAX) projectsMax?: number;
  @IsOptional() @IsInt() @Min(1) @Max(ACTIVE_KEYS_MAX) activeKeysMax?: number;
  /** Null: nothing is granted again. */
  @Clearable() @Nested(() => TenantCredit) credit?: TenantCredit | null;
  @IsOptional() @NestedList(() => TenantBudget, ENTRIES_MAX) budgets?: TenantBudget[];
  @IsOptional() @NestedList(() => TenantProject, ENTRIES_MAX) projects?: TenantProject[];
  @IsOptional() @NestedList(() => TenantWebhook, ENTRIES_MAX) webhooks?: TenantWebhook[];
}

export class AccountPlanRequest {
  /** Checked field by field: a fault is in the plan of its account. */
  @IsArray() @ArrayMaxSize(PLANNED_ACCOUNTS_MAX) accounts!: TenantAccount[];
  /** True: what a list of the wanted state does not name is removed. */
  @IsOptional() @IsBoolean() prune?: boolean;
  /** Owner of what the wanted states name, which gets its mark. Absent: no marks are compared. */
  @IsOptional() @Text(NAME_LENGTH_MAX) source?: string;
  /** True: only the marks of the source are removed. */
  @IsOptional() @IsBoolean() release?: boolean;
}

/** Members are the panel's. A `mark` says what the file owns: its fields are numbers of parts. */
export type TenantKind = 'account' | 'credit' | 'project' | 'key' | 'budget' | 'webhook' | 'member' | 'mark';

/** One difference between an account and its wanted state. Never has a secret. */
export interface TenantChange {
  action: 'create' | 'change' | 'remove';
  kind: TenantKind;
  /** Names of the project and the key that are changed or have the budget. */
  project?: string;
  key?: string;
  /** Period, unit and value of a budget; origin of a webhook; e-mail of a member; source of a mark. */
  name?: string;
  fields: { field: string; before: unknown; after: unknown }[];
}

/** A fault of the wanted state. */
export interface TenantFault {
  /** Fields and indices from the account on. */
  path: (string | number)[];
  problem: string;
}

export interface AccountPlan {
  /** Null: the account would be made. */
  accountId: string | null;
  name: string;
  faults: TenantFault[];
  /** In the order in which they are made. */
  changes: TenantChange[];
  /** Removals that `prune` would make. */
  kept: TenantChange[];
  /** Sentences on what stays and may surprise. */
  notes: string[];
}

export interface AccountPlanReply {
  plans: AccountPlan[];
}

export const accountPlan = new Endpoint<AccountPlanRequest, AccountPlanReply>('billing.v1.account.plan', AccountPlanRequest, {
  about: 'Compares accounts with their wanted states, and changes nothing',
  isRepeatable: true,
});

/** A key that the caller has made and keeps. Billing gets its digest alone. */
export class NewTenantKey {
  @Text(NAME_LENGTH_MAX) project!: string;
  @Text(NAME_LENGTH_MAX) name!: string;
  @Id() keyId!: string;
  /** Hex SHA-256 of the whole key. */
  @Matches(SHA256_HEX) keyDigest!: string;
  @Matches(/^[0-9A-Za-z]{4}$/) lastFour!: string;
}

export class AccountApplyRequest {
  @Nested(() => TenantAccount) account!: TenantAccount;
  @IsOptional() @IsBoolean() prune?: boolean;
  /** As in `account.plan`. */
  @IsOptional() @Text(NAME_LENGTH_MAX) source?: string;
  @IsOptional() @IsBoolean() release?: boolean;
  /** The file of the wanted state, for the journal. */
  @Text(NAME_LENGTH_MAX) fileName!: string;
  /** Hex SHA-256 of the file. */
  @Matches(SHA256_HEX) fileDigest!: string;
  /** Every key that is new. */
  @IsOptional() @NestedList(() => NewTenantKey, NEW_KEYS_MAX) newKeys?: NewTenantKey[];
}

export interface AccountApplyReply {
  accountId: string;
  /** The changes that were made, together. */
  changes: TenantChange[];
  /** Changes that are left for a further request: one makes at most 1,000. */
  remaining: number;
}

/**
 * Makes the changes of one account in one transaction, with a row of the journal for each, or none. Replies `invalid_request` for a fault,
 * with its path as `param`, and for a new key that `newKeys` does not have.
 */
export const accountApply = new Endpoint<AccountApplyRequest, AccountApplyReply>('billing.v1.account.apply', AccountApplyRequest, {
  about: 'Brings an account to its wanted state: settings, projects, keys, budgets, limits and webhooks',
  isRecorded: true,
});

export class AccountExportRequest {
  /** Only this account. */
  @IsOptional() @Id() accountId?: string;
  /** `nextCursor` of the page before. */
  @IsOptional() @Text(2_000) cursor?: string;
}

export interface AccountExportReply extends Paged {
  accounts: ExportedAccount[];
}

/** The state of an account as a wanted state: planning it finds no change. */
export interface ExportedAccount {
  accountId: string;
  account: TenantAccount;
  /** Source of the tenants file that owns it. Absent: none does. */
  managedBy?: string;
  /** Parts of the account that its wanted state cannot name, such as keys without a name. */
  leftOut: string[];
}

export const accountExport = new Endpoint<AccountExportRequest, AccountExportReply>('billing.v1.account.export', AccountExportRequest, {
  about: 'The states of accounts as wanted states, oldest first',
});

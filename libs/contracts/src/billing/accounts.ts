import { IsIn, IsInt, IsOptional, Max, Min } from 'class-validator';
import { Endpoint } from '../endpoint.js';
import {
  ACTIVE_KEYS_MAX,
  CONCURRENCY_MAX,
  MODEL_LIMITS_MAX,
  NAME_LENGTH_MAX,
  PROJECTS_MAX,
  REASON_LENGTH_MAX,
  REQUESTS_PER_MINUTE_MAX,
  SEARCH_LENGTH_MAX,
  TOKENS_MAX,
} from '../rules/bounds.js';
import { Clearable, Id, Instant, NestedList, type Paged, PRICE_PLAN_LENGTH_MAX, Text, Usd } from './fields.js';
import { ModelLimit } from './model-limits.js';
import type { Balance } from './money.js';

export class AccountCreateRequest {
  /** Repeating it with the same id opens one account. Default: a new id. */
  @IsOptional() @Id() accountId?: string;
  @Text(NAME_LENGTH_MAX) name!: string;
}

/** The price plan of an account from a time on. */
export interface NextPricePlan {
  /** Null: list prices. */
  pricePlan: string | null;
  from: string;
}

/** Returns the price plan that is in force at a time in milliseconds. Null: list prices. */
export function pricePlanAt({ pricePlan, nextPricePlan }: Pick<Account, 'pricePlan' | 'nextPricePlan'>, at: number): string | null {
  return nextPricePlan && Date.parse(nextPricePlan.from) <= at ? nextPricePlan.pricePlan : pricePlan;
}

const ACCOUNT_STATUSES = ['active', 'frozen'] as const;
export type AccountStatus = (typeof ACCOUNT_STATUSES)[number];

export interface Account {
  accountId: string;
  name: string;
  /** A frozen account gets no holds. It can be read, and its money can change. */
  status: AccountStatus;
  /** Reason of a frozen account. */
  statusReason: string | null;
  /** `balance-low` is published when the balance falls below it. Null: never. */
  lowBalancePicoUsd: string | null;
  /** Amount by which its top-up balance may go below zero. Null: not at all. */
  creditLinePicoUsd: string | null;
  /** Price plan of the catalog that its requests are billed at. Null: list prices. */
  pricePlan: string | null;
  /** Replaces `pricePlan` at its time, and stays here afterwards. Null: nothing replaces it. */
  nextPricePlan: NextPricePlan | null;
  /** Limits that all its projects share. Null: none. */
  requestsPerMinuteMax: number | null;
  concurrencyMax: number | null;
  tokensPerMinuteMax: number | null;
  /** Limits by model that all its projects share. Absent: none. */
  modelLimits?: ModelLimit[];
  /** Most projects, and most keys that are neither revoked nor expired. */
  projectsMax: number;
  activeKeysMax: number;
  createdAt: string;
  /** Source of the tenants file that owns it: the next apply takes back other changes. Absent: none does. */
  managedBy?: string;
}

export const accountCreate = new Endpoint<AccountCreateRequest, Account>('billing.v1.account.create', AccountCreateRequest, {
  about: 'Opens an account',
  isRecorded: true,
});

export class AccountUpdateRequest {
  @Id() accountId!: string;
  @IsOptional() @Text(NAME_LENGTH_MAX) name?: string;
  @IsOptional() @IsIn(ACCOUNT_STATUSES) status?: AccountStatus;
  /** Only with the status `frozen`. */
  @IsOptional() @Text(REASON_LENGTH_MAX) statusReason?: string;
  /** Threshold of the event `balance-low`: dollars as a decimal string. `"0"` removes it. */
  @IsOptional() @Usd() lowBalanceUsd?: string;
  /**
   * Credit line: dollars as a decimal string. `"0"` removes it. One below what is used or held is a `conflict`, with `details`
   * `requestedPicoUsd` and `usedPicoUsd`.
   */
  @IsOptional() @Usd() creditLineUsd?: string;
  /** Price plan of the catalog. While the catalog does not have it, requests are billed at list prices. */
  @Clearable() @Text(PRICE_PLAN_LENGTH_MAX) pricePlan?: string | null;
  /** A moment ahead, from which on `pricePlan` counts for the requests that begin. Default: at once. Either replaces one that waits. */
  @IsOptional() @Instant() pricePlanFrom?: string;
  /** Limits that all projects share, beside their own. Null removes one. */
  @Clearable() @IsInt() @Min(1) @Max(REQUESTS_PER_MINUTE_MAX) requestsPerMinuteMax?: number | null;
  @Clearable() @IsInt() @Min(1) @Max(CONCURRENCY_MAX) concurrencyMax?: number | null;
  @Clearable() @IsInt() @Min(1) @Max(TOKENS_MAX) tokensPerMinuteMax?: number | null;
  /** Replaces the limits by model. Empty: none. */
  @IsOptional() @NestedList(() => ModelLimit, MODEL_LIMITS_MAX) modelLimits?: ModelLimit[];
  /** Most projects, and most keys that are neither revoked nor expired. Fewer than the account has: it gets no more. */
  @IsOptional() @IsInt() @Min(1) @Max(PROJECTS_MAX) projectsMax?: number;
  @IsOptional() @IsInt() @Min(1) @Max(ACTIVE_KEYS_MAX) activeKeysMax?: number;
}

export const accountUpdate = new Endpoint<AccountUpdateRequest, Account>('billing.v1.account.update', AccountUpdateRequest, {
  about:
    'Freezes an account or makes it active again; changes its name, price plan, credit line, limits and maxima, or when its balance is low',
  isRecorded: true,
});

export class ListRequest {
  @IsOptional() @Id() accountId?: string;
  @IsOptional() @Id() projectId?: string;
  /** Only those whose name has this text, in upper or lower case, or whose id it is. Of keys also the note and the last four characters. */
  @IsOptional() @Text(SEARCH_LENGTH_MAX) search?: string;
  /** Rows on one page. Default 1,000. */
  @IsOptional() @IsInt() @Min(1) @Max(1_000) limit?: number;
  /** `nextCursor` of the page before, with the same account, project and search. */
  @IsOptional() @Text(2_000) cursor?: string;
}

export class AccountListRequest extends ListRequest {
  /** Only those that the tenants file of this source owns. */
  @IsOptional() @Text(NAME_LENGTH_MAX) managedBy?: string;
}

/** An account in a list, with its balance at this moment. */
export interface AccountRow extends Account {
  balance: Balance;
}

export interface AccountListReply extends Paged {
  accounts: AccountRow[];
}

export const accountList = new Endpoint<AccountListRequest, AccountListReply>('billing.v1.account.list', AccountListRequest, {
  about: 'All accounts with their balances, oldest first',
});

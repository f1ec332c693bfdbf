import { IsIn, IsInt, IsOptional, Matches, Max, Min } from 'class-validator';
import { Endpoint } from '../endpoint.js';
import { Id, Text, USD } from './fields.js';

export class AccountCreateRequest {
  /** The same id opens it once. Absent: always a new one. */
  @IsOptional() @Id() accountId?: string;
  @Text(200) name!: string;
}

const ACCOUNT_STATUSES = ['active', 'frozen'] as const;
export type AccountStatus = (typeof ACCOUNT_STATUSES)[number];

export interface Account {
  accountId: string;
  name: string;
  /** A frozen account gets no holds; it can be read, and money can come and go. */
  status: AccountStatus;
  /** Why it is frozen, if anybody said so. */
  statusReason: string | null;
  /** `balance-low` is published when the balance falls below it. Null: nobody is told. */
  lowBalancePicoUsd: string | null;
  createdAt: string;
}

export const accountCreate = new Endpoint<AccountCreateRequest, Account>(
  'billing.v1.account.create',
  AccountCreateRequest,
  'Opens an account',
);

export class AccountUpdateRequest {
  @Id() accountId!: string;
  @IsOptional() @Text(200) name?: string;
  @IsOptional() @IsIn(ACCOUNT_STATUSES) status?: AccountStatus;
  /** Why it is frozen; only with `status` `frozen`. */
  @IsOptional() @Text(500) statusReason?: string;
  /** Dollars as a decimal string; `"0"`: nobody is told. */
  @IsOptional() @Matches(USD) lowBalanceUsd?: string;
}

export const accountUpdate = new Endpoint<AccountUpdateRequest, Account>(
  'billing.v1.account.update',
  AccountUpdateRequest,
  'Freezes an account or makes it active again; changes its name, or when its balance is low',
);

export class ListRequest {
  @IsOptional() @Id() accountId?: string;
  @IsOptional() @Id() projectId?: string;
  /** Rows on one page. Default 1,000. */
  @IsOptional() @IsInt() @Min(1) @Max(1_000) limit?: number;
  /** `nextCursor` of the page before, with the same account and project. */
  @IsOptional() @Text(2_000) cursor?: string;
}

export interface AccountListReply {
  accounts: Account[];
  /** Null: this was the last page. */
  nextCursor: string | null;
}

export const accountList = new Endpoint<ListRequest, AccountListReply>(
  'billing.v1.account.list',
  ListRequest,
  'All accounts, oldest first',
);

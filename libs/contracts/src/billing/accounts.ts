import { IsOptional, IsString, IsUUID, Length } from 'class-validator';
import { Endpoint } from '../endpoint.js';

export class AccountCreateRequest {
  @IsOptional() @IsUUID() accountId?: string;
  @IsString() @Length(1, 200) name!: string;
}

export interface Account {
  accountId: string;
  name: string;
  status: 'active' | 'frozen';
  createdAt: string;
}

export const accountCreate = new Endpoint<AccountCreateRequest, Account>(
  'billing.v1.account.create',
  AccountCreateRequest,
  'Opens an account',
);

export class ListRequest {
  @IsOptional() @IsUUID() accountId?: string;
  @IsOptional() @IsUUID() projectId?: string;
}

export const accountList = new Endpoint<ListRequest, { accounts: Account[] }>('billing.v1.account.list', ListRequest, 'All accounts');

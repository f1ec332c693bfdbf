import { IsOptional, IsUUID } from 'class-validator';
import { Endpoint } from '../endpoint.js';
import { Text } from './fields.js';

export class AccountCreateRequest {
  @IsOptional() @IsUUID() accountId?: string;
  @Text(200) name!: string;
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

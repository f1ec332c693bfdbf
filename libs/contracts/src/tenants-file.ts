import { IsOptional } from 'class-validator';
import { NestedList, Text } from './billing/fields.js';
import { TenantAccount } from './billing/tenants.js';
import { NAME_LENGTH_MAX } from './rules/bounds.js';
import { TenantMember } from './tenant-members.js';

/** Accounts of one file. */
const ACCOUNTS_MAX = 10_000;
const MEMBERS_MAX = 1_000;

/** An account of a tenants file: what billing knows of it, and its people, whom the panel knows. */
class TenantsFileAccount extends TenantAccount {
  /** People with a role in the account or in one of its projects. */
  @IsOptional() @NestedList(() => TenantMember, MEMBERS_MAX) members?: TenantMember[];
}

/** The wanted states of accounts, as a file has them. Accounts that the file does not name stay as they are. */
export class TenantsFile {
  /** Name of the owner, such as the repository. With it, accounts that leave the file lose their marks. Default: the name of the file. */
  @IsOptional() @Text(NAME_LENGTH_MAX) source?: string;
  @NestedList(() => TenantsFileAccount, ACCOUNTS_MAX) accounts!: TenantsFileAccount[];
}

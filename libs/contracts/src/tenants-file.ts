import { NestedList } from './billing/fields.js';
import { TenantAccount } from './billing/tenants.js';

/** Accounts of one file. */
const ACCOUNTS_MAX = 10_000;

/** An account of a tenants file. */
class TenantsFileAccount extends TenantAccount {}

/** The wanted states of accounts, as a file has them. Accounts that the file does not name stay as they are. */
export class TenantsFile {
  @NestedList(() => TenantsFileAccount, ACCOUNTS_MAX) accounts!: TenantsFileAccount[];
}

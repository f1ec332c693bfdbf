import type { Account, AccountCreateRequest, AccountStatus, AccountUpdateRequest } from '#contracts/billing/accounts.js';
import type { Balance } from '#contracts/billing/money.js';

export type { Account, AccountStatus, Balance };

/** `GET /accounts?limit&cursor`: the accounts that the caller may see, oldest first. */
export interface AccountListReply {
  accounts: AccountRow[];
  nextCursor: string | null;
}

export interface AccountRow extends Account {
  balance: Balance;
}

/** `POST /accounts`. Replies `Account`. */
export type AccountCreateBody = AccountCreateRequest;

/** `PATCH /accounts/{a}`. Replies `Account`. */
export type AccountUpdateBody = Omit<AccountUpdateRequest, 'accountId'>;

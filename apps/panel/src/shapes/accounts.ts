import type { Account, AccountCreateRequest, AccountUpdateRequest } from '#contracts/billing/accounts.js';
import type { Balance } from '#contracts/billing/money.js';

export type { Account, Balance };

/** `GET /accounts?limit&cursor`: the accounts that the caller may see, oldest first. */
export interface AccountListReply {
  accounts: AccountRow[];
  nextCursor: string | null;
}

/** Fields of an account that are absent for callers without `money.read` in it. */
export interface AccountMoney extends Pick<Account, 'lowBalancePicoUsd' | 'creditLinePicoUsd' | 'pricePlan' | 'nextPricePlan'> {
  balance: Balance;
}

export type VisibleAccount = Omit<Account, keyof AccountMoney>;

/** Reply to a change of an account. */
export interface ShownAccount extends VisibleAccount, Partial<Omit<AccountMoney, 'balance'>> {}

export interface AccountRow extends VisibleAccount, Partial<AccountMoney> {}

/** `POST /accounts`. Replies `ShownAccount`. */
export type AccountCreateBody = AccountCreateRequest;

/** `PATCH /accounts/{a}`. Replies `ShownAccount`. */
export type AccountUpdateBody = Omit<AccountUpdateRequest, 'accountId'>;

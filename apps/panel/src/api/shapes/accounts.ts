import type { Account, AccountStatus } from '#contracts/billing/accounts.js';
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
export interface AccountCreateBody {
  /** Repeating it with the same id opens one account. Default: a new id. */
  accountId?: string;
  name: string;
}

/** `PATCH /accounts/{a}`. Replies `Account`. */
export interface AccountUpdateBody {
  name?: string;
  status?: AccountStatus;
  /** Only with the status `frozen`. */
  statusReason?: string;
  /** Threshold of the warning `balance-low`: dollars as a decimal string. `"0"` removes it. */
  lowBalanceUsd?: string;
}

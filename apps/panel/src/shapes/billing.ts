import type { AuditCheckReply } from '#contracts/audit.js';
import type { Account, AccountCreateRequest, AccountUpdateRequest } from '#contracts/billing/accounts.js';
import type {
  Budget,
  BudgetListReply,
  BudgetPeriod,
  BudgetSetRequest,
  BudgetUnit,
  BudgetValue,
  BudgetValuesReply,
} from '#contracts/billing/budgets.js';
import type {
  ChildKeyListReply,
  ChildKeyMintRequest,
  ListedChildKey,
  MintedChildKey,
  RevokedChildKeys,
} from '#contracts/billing/child-keys.js';
import type { PinnedPrice } from '#contracts/billing/holds.js';
import type {
  ApiKey,
  CreatedKey,
  KeyCreateRequest,
  KeyListReply,
  KeyRotateRequest,
  KeyRow,
  KeyUpdateRequest,
  RotatedKey,
} from '#contracts/billing/keys.js';
import type { LedgerCheckListReply, LedgerCheckReply, LedgerInvariant, LedgerViolation } from '#contracts/billing/ledger.js';
import type { MarginGroup, MarginRow, UsageMarginReply } from '#contracts/billing/margin.js';
import type { ModelLimit, OperatorLimits } from '#contracts/billing/model-limits.js';
import type {
  AdjustmentCreateReply,
  AdjustmentCreateRequest,
  Balance,
  CreditNoteCreateReply,
  CreditNoteCreateRequest,
  PlanGrantReply,
  PlanGrantRequest,
  RefundCreateReply,
  RefundCreateRequest,
  TopupCreateReply,
  TopupCreateRequest,
} from '#contracts/billing/money.js';
import type { MovementKind, MovementListReply } from '#contracts/billing/movements.js';
import type { Project, ProjectCreateRequest, ProjectListReply, ProjectUpdateRequest } from '#contracts/billing/projects.js';
import type { AccountReceipts } from '#contracts/billing/receipts.js';
import type { BilledRequest, RequestBill } from '#contracts/billing/requests.js';
import type { UsageQueryReply, UsageRow } from '#contracts/billing/usage.js';
import type {
  Delivery,
  DeliveryListReply,
  Webhook,
  WebhookAdded,
  WebhookAddRequest,
  WebhookFormat,
  WebhookListReply,
  WebhookReplayReply,
  WebhookReplayRequest,
  WebhookRotateRequest,
  WebhookTestReply,
  WebhookUpdateRequest,
  WebhookWithSecret,
} from '#contracts/billing/webhooks.js';
import type { MailState } from './identity.js';

export type { Account, Balance };

/** `GET /accounts?limit&cursor`: the accounts that the caller may see, oldest first. */
export interface AccountListReply {
  accounts: AccountRow[];
  /** Projects of which the caller has a role. Their accounts are above only if the caller has a role there too. */
  projects: ProjectPlace[];
  nextCursor: string | null;
}

/** A project and its account, as people of the project may know it. */
export interface ProjectPlace {
  projectId: string;
  name: string;
  accountId: string;
  accountName: string;
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

/** `PUT /accounts/{a}/low-balance`. Replies `ShownAccount`. */
export type LowBalanceBody = Required<Pick<AccountUpdateRequest, 'lowBalanceUsd'>>;

/** `GET /accounts/{a}/budgets?projectId` replies `BudgetListReply`. `DELETE /accounts/{a}/budgets/{budgetId}` replies the `Budget` as it was. */
/** `GET /accounts/{a}/budgets/{budgetId}/values?limit&cursor`, in the order of the values. */
export type { Budget, BudgetListReply, BudgetPeriod, BudgetUnit, BudgetValue, BudgetValuesReply };

/**
 * `POST /accounts/{a}/budgets` makes a budget: 409 `conflict` when the target has one for the period in the unit, whose `budgetId` and limit are
 * the `details` of the error. `PUT` creates the budget, or changes the limit and the settings of the one that exists. Both reply `Budget`.
 */
export type BudgetSetBody = Omit<BudgetSetRequest, 'accountId' | 'createOnly'>;

/** `GET /projects/{projectId}/keys?limit&cursor` and `GET /accounts/{a}/keys?projectId&limit&cursor`, oldest first, whatever their state. */
export type { ApiKey, KeyListReply, KeyRow, ModelLimit, OperatorLimits };

/** `POST /projects/{projectId}/keys`. Replies `CreatedKey`. */
export type KeyCreateBody = Omit<KeyCreateRequest, 'projectId'>;

/** `PATCH /keys/{keyId}`. Null clears a field. Replies `ApiKey`. */
export type KeyUpdateBody = Omit<KeyUpdateRequest, 'keyId'>;

/** `POST /keys/{keyId}/rotate`. Replies `RotatedKey`. */
export type KeyRotateBody = Omit<KeyRotateRequest, 'keyId'>;

/** `GET /keys/{keyId}/children?limit&cursor`. `DELETE /keys/{keyId}/children/{childId}` revokes one and replies `RevokedChildKeys`. */
export type { ChildKeyListReply, CreatedKey, ListedChildKey, RevokedChildKeys, RotatedKey };

/** `POST /keys/{keyId}/children`. Replies `MintedChildKey`. */
export type ChildKeyMintBody = Omit<ChildKeyMintRequest, 'keyId'>;
export type { MintedChildKey };

// `DELETE /keys/{keyId}` revokes the key permanently and replies `ApiKey`.

/**
 * `GET /ledger/checks?limit` replies `LedgerCheckListReply`. `POST /ledger/checks` replies one `LedgerCheckReply`, after seconds on a large
 * ledger. `GET /margin?month&by` replies `UsageMarginReply`, after minutes for a large month whose cost prices have steps, tiers or images.
 */
export type { LedgerCheckListReply, LedgerCheckReply, LedgerInvariant, LedgerViolation, MarginGroup, MarginRow, UsageMarginReply };

/** `GET /ledger/journals`: the audit journals that the check of the ledger does not include, checked for this reply. */
export interface JournalCheckListReply {
  journals: JournalCheck[];
}

export interface JournalCheck extends AuditCheckReply {
  service: 'catalog' | 'panel';
}

/** `GET /accounts/{a}/movements?from&to&kinds&limit&cursor`, newest first. `kinds` is separated by commas. */
export type { AdjustmentCreateReply, CreditNoteCreateReply, MovementListReply, PlanGrantReply, RefundCreateReply, TopupCreateReply };

/** `POST /accounts/{a}/topups`. Replies `TopupCreateReply`. */
export type TopupBody = Omit<TopupCreateRequest, 'accountId'>;

/** `POST /accounts/{a}/grants`. Replies `PlanGrantReply`. */
export type GrantBody = Omit<PlanGrantRequest, 'accountId'>;

/** `POST /accounts/{a}/credit-notes`. Replies `CreditNoteCreateReply`. */
export type CreditNoteBody = Omit<CreditNoteCreateRequest, 'accountId'>;

/** `POST /accounts/{a}/refunds`. Replies `RefundCreateReply`. */
export type RefundBody = Omit<RefundCreateRequest, 'accountId'>;

/** `POST /accounts/{a}/adjustments`. Replies `AdjustmentCreateReply`. */
export type AdjustmentBody = Omit<AdjustmentCreateRequest, 'accountId'>;

/**
 * `GET /accounts/{a}/statements/{yyyy-mm}` and `{yyyy-mm}.csv`. A month in UTC:
 * `opening + in − out − cost − forfeited = closing`. The closing amount of the running month is the balance and its `expiredHeld`.
 */
export interface Statement {
  accountId: string;
  /** `2027-01`. */
  month: string;
  from: string;
  /** End of the month, or now while it runs. */
  to: string;
  /** False while the month runs: the closing amount still changes. */
  isClosed: boolean;
  openingPicoUsd: string;
  /** Top-ups, grants, credits and credit notes. */
  inPicoUsd: string;
  /** Refunds and debits. */
  outPicoUsd: string;
  /** Cost of requests. */
  costPicoUsd: string;
  /** Plan money that was not used when its grant ended. */
  forfeitedPicoUsd: string;
  closingPicoUsd: string;
  /** Number, sum and root of the receipts of the month. Null until it is sealed, and without a request. */
  receipts: AccountReceipts | null;
  /** In the order of time: each movement, and one line for the requests of each day, at the end of the day. */
  lines: StatementLine[];
}

export interface StatementLine {
  /** Time of a movement, or start of the day of `usage`. */
  at: string;
  kind: MovementKind | 'usage';
  /** Change of the balance, negative when it took money. */
  amountPicoUsd: string;
  balancePicoUsd: string;
  /** Id of payment, grant, refund, adjustment or credit note. */
  reference: string | null;
  reason: string | null;
  /** Number of requests of a line `usage`. Null for movements. */
  requests: number | null;
}

/** `GET /accounts/{a}/statement-mail`, about the mails of the caller. */
export interface StatementMailReply {
  isOn: boolean;
  /** The last month whose statement was sent; at first the last that had ended. Null: it is off. */
  sentMonth: string | null;
  mail: MailState;
}

/** `PUT /accounts/{a}/statement-mail`. Replies `StatementMailReply`. */
export interface StatementMailBody {
  isOn: boolean;
}

/** `GET /accounts/{a}/projects?limit&cursor`, oldest first. */
export type { Project, ProjectListReply };

/** `POST /accounts/{a}/projects`. Replies `Project`. */
export type ProjectCreateBody = Omit<ProjectCreateRequest, 'accountId'>;

/** `PATCH /projects/{projectId}`. Replies `Project`. Changing the limits or the policy needs the permission `accounts`. */
export type ProjectUpdateBody = Omit<ProjectUpdateRequest, 'projectId'>;

/** `GET /requests/{requestId}` replies `BilledRequest`. */
/** `GET /accounts/{a}/usage` and `usage.csv`; `{a}` is `all` for the whole platform. */
export type { BilledRequest, PinnedPrice, RequestBill, UsageQueryReply, UsageRow };

export interface ShownWebhooks extends WebhookListReply {
  mail: MailState;
}

/** `POST /accounts/{a}/webhooks`. Replies `WebhookAdded`. */
export type WebhookAddBody = Omit<WebhookAddRequest, 'accountId'>;

/** `PATCH /accounts/{a}/webhooks/{webhookId}`. Replies `Webhook`. */
export type WebhookUpdateBody = Omit<WebhookUpdateRequest, 'accountId' | 'webhookId'>;

/** `POST /accounts/{a}/webhooks/{webhookId}/rotate`. Replies `WebhookWithSecret`. */
export type WebhookRotateBody = Omit<WebhookRotateRequest, 'accountId' | 'webhookId'>;

/** `POST /accounts/{a}/webhooks/{webhookId}/replay`. Replies `WebhookReplayReply`. */
export type WebhookReplayBody = Omit<WebhookReplayRequest, 'accountId' | 'webhookId'>;

/**
 * `GET /accounts/{a}/webhooks` replies `ShownWebhooks`. Who may not change webhooks sees the origin of their URLs alone.
 * `DELETE /accounts/{a}/webhooks/{webhookId}` replies the `Webhook` as it was, `POST …/test` and `POST …/events/{eventId}/send` reply
 * `WebhookTestReply`, `GET …/deliveries?limit&cursor` replies `DeliveryListReply`.
 */
export type { Delivery, DeliveryListReply, Webhook, WebhookAdded, WebhookFormat, WebhookReplayReply, WebhookTestReply, WebhookWithSecret };

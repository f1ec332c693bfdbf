import type { PinnedPrice, SettleReason, TokenUsage } from '#contracts/billing/holds.js';
import type {
  BilledRequest,
  RequestBill,
  RequestListReply,
  RequestListRequest,
  RequestRow,
  RequestSettlement,
} from '#contracts/billing/requests.js';

/** `GET /accounts/{a}/requests` replies `RequestListReply`, `GET /requests/{requestId}` replies `BilledRequest`. */
export type { BilledRequest, PinnedPrice, RequestBill, RequestListReply, RequestRow, RequestSettlement, SettleReason, TokenUsage };

/** Query of `GET /accounts/{a}/requests`; `{a}` is `all` for the whole platform. `requests.csv` takes it without `limit` and `cursor`. */
export type RequestFilter = Omit<RequestListRequest, 'accountId'>;

import type { PinnedPrice, SettleReason } from '#contracts/billing/holds.js';
import type { BilledRequest, RequestBill, RequestListReply, RequestRow } from '#contracts/billing/requests.js';

/** `GET /accounts/{a}/requests` replies `RequestListReply`, `GET /requests/{requestId}` replies `BilledRequest`. */
export type { BilledRequest, PinnedPrice, RequestBill, RequestListReply, RequestRow, SettleReason };

import { Endpoint } from '../endpoint.js';
import { Text } from './fields.js';
import type { PinnedPrice, SettleReason, Settler, TokenUsage } from './holds.js';

export class RequestShowRequest {
  @Text(128) requestId!: string;
}

/** Bill of a request, or of its last meter reading. Usage is zero when nothing was billed. */
export interface RequestBill {
  usage: TokenUsage;
  costPicoUsd: string;
  settledAt: string;
}

/** End and cost of a request, including a late settlement. */
export interface RequestSettlement extends RequestBill {
  reason: SettleReason;
  /** `reaper`: the lease expired before a service settled. Null: a release, or a service of an older version. */
  settledBy: Settler | 'reaper' | null;
  /** Value of the usage beyond the hold. It is not part of the cost. */
  overPicoUsd: string;
  /** Part of a late settlement that the account had no money for. It is not part of the cost. */
  writtenOffPicoUsd: string;
  /** Bill of the reaper, which a late settlement replaced. Null without a late settlement. */
  reaped: RequestBill | null;
}

/** Everything billing knows of one request. `settlement` is null while it runs. Amounts are integer strings of pico-USD. */
export interface BilledRequest {
  requestId: string;
  holdId: string;
  accountId: string;
  projectId: string;
  keyId: string;
  model: string;
  upstream: string | null;
  heldPicoUsd: string;
  price: PinnedPrice;
  reservedAt: string;
  settlement: RequestSettlement | null;
}

export const requestShow = new Endpoint<RequestShowRequest, BilledRequest>(
  'billing.v1.request.show',
  RequestShowRequest,
  'Hold, price, usage and settlement of one request',
);

import { Endpoint } from '../endpoint.js';
import { Text } from './fields.js';
import type { PinnedPrice, SettleReason, Settler, TokenUsage } from './holds.js';

export class RequestShowRequest {
  @Text(128) requestId!: string;
}

/** The bill of a request, or of a reading of one. Usage is all zeros where nothing was billed. */
export interface RequestBill {
  usage: TokenUsage;
  costPicoUsd: string;
  settledAt: string;
}

/** How a request ended and what it costs. A late settlement has the last word. */
export interface RequestSettlement extends RequestBill {
  reason: SettleReason;
  /** `reaper`: the lease ran out before a service settled. Null: a release, or a service of an older version. */
  settledBy: Settler | 'reaper' | null;
  /** Value of the usage beyond the hold. It is not part of the cost. */
  overPicoUsd: string;
  /** Part of a late settlement that the account had no money for. It is not part of the cost. */
  writtenOffPicoUsd: string;
  /** The bill of the reaper, which a late settlement replaced. Null: the settlement was not late. */
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

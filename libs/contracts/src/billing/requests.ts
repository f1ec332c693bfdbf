import { Endpoint } from '../endpoint.js';
import { Text } from './fields.js';
import type { PinnedPrice, SettleReason, TokenUsage } from './holds.js';

export class RequestShowRequest {
  @Text(128) requestId!: string;
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
  settlement: { reason: SettleReason; usage: TokenUsage; costPicoUsd: string; settledAt: string } | null;
}

export const requestShow = new Endpoint<RequestShowRequest, BilledRequest>(
  'billing.v1.request.show',
  RequestShowRequest,
  'Hold, price, usage and settlement of one request',
);

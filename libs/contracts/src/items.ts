import { IsInt, IsOptional, Matches, Max, Min } from 'class-validator';
import { type Attribution, AttributionOf } from './billing/attribution.js';
import { Id, Text } from './billing/fields.js';
import { type ExceededBudget, LEASE_BOUNDS_MS, type ReserveOutcome, type ServiceCeiling, type SettleOutcome } from './billing/holds.js';
import { CHILD_KEY_LENGTH_MAX } from './child-keys/child-key.js';
import { Endpoint } from './endpoint.js';
import { SERVICE_NAME, TOKENS_MAX } from './rules/bounds.js';

/*
 * Holds of internal services for items of their own, such as a page that was crawled. A service calls `<subject>.by.<service>`, which only its
 * NATS user may publish to, so it names neither itself nor the items of others. The catalog has the items with their units and prices.
 */

export class ItemReserveRequest {
  /** UUID v7 made by the service now. A retry with the same id is safe: `held` while the hold is open, `closed` after it. */
  @Id() holdId!: string;
  /** Key whose account pays. Its limits, budgets and list of models count the hold, and those of its project and account. Absent: `apiKey`. */
  @IsOptional() @Id() keyId?: string;
  /** The key itself, or a child key of it, as a client sent it to the service. A child key pays within its own limit and those above it. */
  @IsOptional() @Text(CHILD_KEY_LENGTH_MAX) apiKey?: string;
  /** Item of the service, as its catalog entry names it: `page`. */
  @Matches(SERVICE_NAME) item!: string;
  /** The most units that will be used. The hold is for all of them. */
  @IsInt() @Min(1) @Max(TOKENS_MAX - 1) quantityMax!: number;
  /** Milliseconds until the hold ends unless it is renewed. Default: `LEASE_MS` of billing. */
  @IsOptional() @IsInt() @Min(LEASE_BOUNDS_MS.min) @Max(LEASE_BOUNDS_MS.max) leaseMs?: number;
  /** Name of the work for its row among the requests. Default: the hold's id. */
  @IsOptional() @Text(128) requestId?: string;
  /** User, client, session, agent and tags that the work is for, which budgets and usage count. The child key is that of `apiKey`. */
  @IsOptional() @AttributionOf() attribution?: Attribution;
}

/** Outcome of a reserve. A failure to decide is an error instead. */
export interface ItemReserveReply {
  /** `closed`: the id was used before. `refused`: `code` and `message` say why, and nothing is held. Start the work only when it is `held`. */
  status: ReserveOutcome['status'];
  holdId: string;
  /** Account that pays. Settling needs it. */
  accountId: string;
  unit: string;
  /** Price of a unit, as the hold pins it: integer string of pico-USD. */
  unitPicoUsd: string;
  priceVersion: number;
  heldPicoUsd: string;
  /** Only of `held`. */
  leaseMs?: number;
  /** Only of `refused`, as the next one. */
  code?: Extract<ReserveOutcome, { status: 'refused' }>['code'];
  message?: string;
  /** Only of a limit per minute or at once. */
  retryAfterSeconds?: number;
  /** Only of `insufficient_balance`. */
  availablePicoUsd?: string;
  /** Only of `insufficient_balance` that a budget causes. */
  budget?: ExceededBudget;
  /** Only of `service_ceiling`. */
  ceiling?: ServiceCeiling;
}

/**
 * Errors: `not_found` for an item that the catalog does not have, and for one that the key's list of models leaves out; `invalid_api_key`;
 * `invalid_request` for a hold above the service's ceiling and for an id that is no UUID v7 of now; `unavailable`.
 */
export const itemReserve = new Endpoint<ItemReserveRequest, ItemReserveReply>('gateway.v1.item.reserve', ItemReserveRequest, {
  about: 'Holds the price of the most units of an item that a service will use, or refuses',
  isRepeatable: true,
  isForServices: true,
});

export class ItemRenewRequest {
  @Id() holdId!: string;
  /** Units used so far: charged if the lease ends without a settlement. A lower one than before only extends the lease. */
  @IsInt() @Min(0) @Max(TOKENS_MAX - 1) quantity!: number;
  /** As in the reserve. */
  @IsOptional() @IsInt() @Min(LEASE_BOUNDS_MS.min) @Max(LEASE_BOUNDS_MS.max) leaseMs?: number;
}

export interface ItemRenewReply {
  /** `ended`: the service has no such open hold. Stop the work, and settle what was used. */
  status: 'renewed' | 'ended';
  holdId: string;
  /** True: the key or child key, its project or account may no longer call. Stop the work, and settle what was used. */
  stop: boolean;
}

export const itemRenew = new Endpoint<ItemRenewRequest, ItemRenewReply>('gateway.v1.item.renew', ItemRenewRequest, {
  about: 'Extends the lease of a hold for an item, and keeps the units used so far',
  isRepeatable: true,
  isForServices: true,
});

export class ItemSettleRequest {
  @Id() holdId!: string;
  /** `accountId` of the reserve's reply. */
  @Id() accountId!: string;
  /** Units that were used. Those beyond the hold cost nothing. */
  @IsInt() @Min(0) @Max(TOKENS_MAX - 1) quantity!: number;
}

/** The first settlement counts; a repeated one gets the recorded cost. After the lease has ended it corrects the charge, once. */
export const itemSettle = new Endpoint<ItemSettleRequest, SettleOutcome>('gateway.v1.item.settle', ItemSettleRequest, {
  about: 'Ends a hold for an item and charges the units used',
  isRepeatable: true,
  isForServices: true,
});

export class ItemReleaseRequest {
  @Id() holdId!: string;
  /** `accountId` of the reserve's reply. */
  @Id() accountId!: string;
}

export const itemRelease = new Endpoint<ItemReleaseRequest, SettleOutcome>('gateway.v1.item.release', ItemReleaseRequest, {
  about: 'Ends a hold for an item and charges nothing',
  isRepeatable: true,
  isForServices: true,
});

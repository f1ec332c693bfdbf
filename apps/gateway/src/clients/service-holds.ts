import { holdRenew, type ReserveOutcome, type ReserveRequest, type SettleOutcome, type SettleRequest } from '#contracts/billing/holds.js';
import { keyFind } from '#contracts/billing/keys.js';
import type { ItemRenewReply, ItemRenewRequest, ItemReserveRequest } from '#contracts/items.js';
import { ServiceError } from '#contracts/service-error.js';
import { GatewayError } from '#inference/errors.js';
import { type Messaging, MessagingError } from '#messaging/messaging.js';
import type { ApiKeys } from './api-keys.js';
import type { BillingClient } from './billing.js';
import { type Caller, toCaller } from './caller.js';

/** Requests to billing for holds of internal services. Throws `ServiceError`s, which a service gets as they are. */
export class ServiceHolds {
  constructor(
    private readonly messaging: Messaging,
    private readonly keys: ApiKeys,
    private readonly billing: BillingClient,
  ) {}

  /** Returns the owner of the key that pays. */
  async findPayer({ keyId, apiKey }: Pick<ItemReserveRequest, 'keyId' | 'apiKey'>): Promise<Caller> {
    if ((keyId === undefined) === (apiKey === undefined)) {
      throw new ServiceError('invalid_request', 'keyId or apiKey names the key that pays, and not both.', 'keyId');
    }
    if (apiKey !== undefined) return translated(async () => this.keys.resolve(apiKey));
    return translated(async () => toCaller(await this.messaging.request(keyFind, { keyId: keyId as string })));
  }

  /** A reserve without an answer is the service's to repeat, with the same id; one that is not repeated ends with its lease. */
  reserve(request: ReserveRequest): Promise<ReserveOutcome> {
    return translated(() => this.billing.reserve(request, () => undefined));
  }

  settle(request: SettleRequest & { service: string }): Promise<SettleOutcome> {
    return translated(() => this.billing.settle(request));
  }

  async renew(service: string, { holdId, quantity, leaseMs }: ItemRenewRequest): Promise<ItemRenewReply> {
    // A reading of more units is newer.
    const reading = { holdId, service, sequence: quantity + 1, usage: renderQuantity(quantity), ...(leaseMs !== undefined && { leaseMs }) };
    const { renewed, stop = [] } = await translated(() => this.messaging.request(holdRenew, { renewals: [reading] }));
    return { status: renewed.includes(holdId) ? 'renewed' : 'ended', holdId, stop: stop.includes(holdId) };
  }
}

/** Renders the usage of an item. */
export function renderQuantity(quantity: number) {
  const tokens = { promptTokens: 0, cachedTokens: 0, outputTokens: 0, reasoningTokens: 0 };
  return { ...tokens, promptSource: 'reported', outputSource: 'reported', quantity } as const;
}

async function translated<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const code = error instanceof GatewayError || error instanceof ServiceError ? error.code : undefined;
    if (code === 'model_unavailable' || code === 'unavailable' || error instanceof MessagingError) {
      throw new ServiceError('unavailable', 'Billing is temporarily unavailable. Try again with the same id.', undefined, { cause: error });
    }
    if (error instanceof GatewayError) throw new ServiceError(error.code, error.message, error.param, { cause: error });
    throw error;
  }
}

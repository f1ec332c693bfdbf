import { Controller } from '@nestjs/common';
import type { SettleOutcome } from '#contracts/billing/holds.js';
import {
  type ItemReleaseRequest,
  type ItemRenewReply,
  type ItemRenewRequest,
  type ItemReserveReply,
  type ItemReserveRequest,
  type ItemSettleRequest,
  itemRelease,
  itemRenew,
  itemReserve,
  itemSettle,
} from '#contracts/items.js';
import { ServiceError } from '#contracts/service-error.js';
import type { CallContext } from '#messaging/messaging.js';
import { Serves } from '#messaging/serves.js';
import { renderUsd } from '#money/pico-usd.js';
import { CatalogClient, type Item } from '../clients/catalog.js';
import { renderQuantity, ServiceHolds } from '../clients/service-holds.js';
import { attributeItem } from './attribute-item.js';
import { describeRefusal } from './describe-refusal.js';
import { checkHoldId } from './hold-id.js';

/** Holds of internal services for their items, at the catalog's prices. The subject of a call proves the service. */
@Controller()
export class ItemsController {
  constructor(
    private readonly catalog: CatalogClient,
    private readonly holds: ServiceHolds,
  ) {}

  @Serves(itemReserve)
  async reserve(request: ItemReserveRequest, { caller }: CallContext): Promise<ItemReserveReply> {
    const { holdId, item: name, quantityMax, requestId = holdId, leaseMs } = request;
    checkHoldId(holdId, Date.now());
    const payer = await this.holds.findPayer(request);
    const attribution = attributeItem(request.attribution, payer);
    const item = this.findItem(nameService(caller), name, payer);
    const amount = BigInt(quantityMax) * (item.price.requestPicoUsd ?? 0n);
    checkHoldMax(item, amount);
    const { accountId, projectId, keyId } = payer;
    const { id: service, dayMaxPicoUsd, openHoldsMax } = item.service;
    const outcome = await this.holds.reserve({
      ...{ holdId, accountId, projectId, keyId, requestId, model: item.id, price: item.pinnedPrice },
      amountPicoUsd: String(amount),
      item: { service, quantityMax, ...(dayMaxPicoUsd !== null && { dayMaxPicoUsd }), ...(openHoldsMax !== null && { openHoldsMax }) },
      ...(leaseMs !== undefined && { leaseMs }),
      ...(attribution && { attribution }),
      ...(payer.child && { childLimitsPicoUsd: payer.child.limitsPicoUsd }),
    });
    return {
      ...{ status: outcome.status, holdId, accountId, unit: item.unit, unitPicoUsd: item.pinnedPrice.requestPicoUsd ?? '0' },
      ...{ priceVersion: item.pinnedPrice.version, heldPicoUsd: outcome.status === 'held' ? String(amount) : '0' },
      ...(outcome.status === 'held' && { leaseMs: outcome.leaseMs }),
      ...(outcome.status === 'refused' && describeRefusal(outcome)),
    };
  }

  @Serves(itemRenew)
  async renew(request: ItemRenewRequest, { caller }: CallContext): Promise<ItemRenewReply> {
    return this.holds.renew(nameService(caller), request);
  }

  @Serves(itemSettle)
  async settle({ holdId, accountId, quantity }: ItemSettleRequest, { caller }: CallContext): Promise<SettleOutcome> {
    const service = nameService(caller);
    return this.holds.settle({ holdId, accountId, service, upstream: service, reason: 'completed', usage: renderQuantity(quantity) });
  }

  @Serves(itemRelease)
  async release({ holdId, accountId }: ItemReleaseRequest, { caller }: CallContext): Promise<SettleOutcome> {
    const service = nameService(caller);
    return this.holds.settle({ holdId, accountId, service, upstream: service, reason: 'released' });
  }

  private findItem(service: string, name: string, payer: Parameters<CatalogClient['item']>[2]): Item {
    if (!this.catalog.loaded) throw new ServiceError('unavailable', 'The items are not known yet. Try again.');
    const item = this.catalog.item(service, name, payer);
    if (!item) throw new ServiceError('not_found', `The catalog has no item ${service}/${name} for this key.`, 'item');
    return item;
  }
}

function nameService({ via }: CallContext['caller']): string {
  if (via === null) throw new ServiceError('permission_denied', 'Only an internal service may call this.');
  return via;
}

function checkHoldMax({ service: { id, holdMaxPicoUsd } }: Item, amount: bigint): void {
  if (holdMaxPicoUsd === null || amount <= BigInt(holdMaxPicoUsd)) return;
  throw new ServiceError(
    'invalid_request',
    `A hold of ${id} may be $${renderUsd(BigInt(holdMaxPicoUsd))}, and this one would be $${renderUsd(amount)}: use fewer units and several holds.`,
    'quantityMax',
  );
}

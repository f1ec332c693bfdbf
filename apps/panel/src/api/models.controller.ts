import { Controller, Req } from '@nestjs/common';
import { CatalogApplyRequest, catalogApply, modelList } from '#contracts/catalog.js';
import {
  CatalogGetRequest,
  CatalogPlanRequest,
  catalogGet,
  catalogPlan,
  RevisionListRequest,
  revisionList,
} from '#contracts/catalog-revisions.js';
import { PriceCancelRequest, PriceScheduleRequest, priceCancel, priceList, priceSchedule } from '#contracts/scheduled-prices.js';
import { Handles, Input } from '../http/route.decorator.js';
import { type PanelRequest, requireCaller } from '../requests/panel-request.js';
import { Services } from '../services/services.js';
import type {
  CatalogApplyReply,
  CatalogGetReply,
  CatalogPlanReply,
  ModelListReply,
  PriceListReply,
  RevisionListReply,
  ScheduledPrice,
} from '../shapes/catalog.js';

@Controller()
export class ModelsController {
  constructor(private readonly services: Services) {}

  /** Price plans of accounts, ceilings of services, and prices that are not in force yet, are for who may read the catalog. */
  @Handles('listModels')
  async list(@Req() request: PanelRequest): Promise<ModelListReply> {
    const { pricePlans, scheduledPrices, services, ...models } = await this.services.ask(modelList, {});
    if (requireCaller(request).access.may('catalog.read', null))
      return { ...models, ...(services && { services }), ...(pricePlans && { pricePlans }), ...(scheduledPrices && { scheduledPrices }) };
    return { ...models, ...(services && { services: services.map(({ id, items }) => ({ id, items })) }) };
  }

  @Handles('showCatalog')
  show(@Input(CatalogGetRequest) query: CatalogGetRequest): Promise<CatalogGetReply> {
    return this.services.ask(catalogGet, query);
  }

  @Handles('listRevisions')
  revisions(@Input(RevisionListRequest) query: RevisionListRequest): Promise<RevisionListReply> {
    return this.services.ask(revisionList, query);
  }

  @Handles('planCatalog')
  plan(@Input(CatalogPlanRequest) { yaml }: CatalogPlanRequest): Promise<CatalogPlanReply> {
    return this.services.ask(catalogPlan, { yaml, appliedBy: 'panel' });
  }

  @Handles('applyCatalog')
  apply(@Req() request: PanelRequest, @Input(CatalogApplyRequest) message: CatalogApplyRequest): Promise<CatalogApplyReply> {
    return this.services.change(request, catalogApply, message);
  }

  @Handles('listScheduledPrices')
  scheduledPrices(): Promise<PriceListReply> {
    return this.services.ask(priceList, {});
  }

  @Handles('schedulePrice')
  schedule(@Req() request: PanelRequest, @Input(PriceScheduleRequest) message: PriceScheduleRequest): Promise<ScheduledPrice> {
    return this.services.change(request, priceSchedule, message);
  }

  @Handles('cancelScheduledPrice')
  cancel(@Req() request: PanelRequest, @Input(PriceCancelRequest) message: PriceCancelRequest): Promise<ScheduledPrice> {
    return this.services.change(request, priceCancel, message);
  }
}

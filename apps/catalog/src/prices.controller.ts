import { Controller } from '@nestjs/common';
import { type CostListReply, CostListRequest, costList } from '#contracts/route-costs.js';
import {
  PriceCancelRequest,
  PriceScheduleRequest,
  PriceShowRequest,
  priceCancel,
  priceList,
  priceSchedule,
  priceShow,
} from '#contracts/scheduled-prices.js';
import type { CallContext } from '#messaging/messaging.js';
import { Serves } from '#messaging/serves.js';
import { Announcements } from './announcements.js';
import { Editing } from './editing.js';
import { PriceTimer } from './prices/price-timer.js';
import { RouteCosts } from './prices/route-costs.js';
import { ScheduledPrices } from './prices/scheduled-prices.js';
import { ShownPrices } from './prices/shown-prices.js';
import { Snapshot } from './snapshot.js';

@Controller()
export class PricesController {
  constructor(
    private readonly prices: ScheduledPrices,
    private readonly shown: ShownPrices,
    private readonly costs: RouteCosts,
    private readonly timer: PriceTimer,
    private readonly editing: Editing,
    private readonly announcements: Announcements,
    private readonly snapshot: Snapshot,
  ) {}

  @Serves(priceSchedule)
  async schedule(request: PriceScheduleRequest, { caller }: CallContext) {
    this.editing.require();
    const scheduled = await this.prices.schedule(request, caller);
    this.timer.wake();
    await this.announce();
    return scheduled;
  }

  @Serves(priceList)
  async list() {
    return { prices: await this.prices.list() };
  }

  @Serves(priceShow)
  show(request: PriceShowRequest) {
    return this.shown.show(request);
  }

  @Serves(costList)
  async listCosts({ month }: CostListRequest): Promise<CostListReply> {
    return { costs: await this.costs.list(month) };
  }

  @Serves(priceCancel)
  async cancel({ scheduledPriceId }: PriceCancelRequest, { caller }: CallContext) {
    const cancelled = await this.prices.cancel(scheduledPriceId, caller);
    await this.announce();
    return cancelled;
  }

  /** Gateways and the other replicas read again what is scheduled. */
  private announce(): Promise<boolean> {
    this.announcements.forget();
    return this.snapshot.refresh();
  }
}

import type { PinnedPrice } from '#contracts/billing/holds.js';
import {
  type CatalogModel,
  type CatalogService,
  catalogChanged,
  type ModelListReply,
  modelList,
  type OfferedService,
  type PricePlan,
  type ServiceItem,
} from '#contracts/catalog.js';
import { GatewayError, shortened } from '#inference/errors.js';
import type { Messaging } from '#messaging/messaging.js';
import { RevisionFollower } from '#messaging/revision-follower.js';
import type { Price } from '#money/price.js';
import { parsePrice, planPricing, renderPriceText } from '#money/price-plan.js';
import type { Logger } from '#observability/logger.js';
import type { Caller } from './caller.js';
import { findNearestModel } from './nearest-model.js';

/** A model with its price as integers, and as it is pinned to a hold. */
export interface Model extends Omit<CatalogModel, 'price'> {
  price: Price;
  pinnedPrice: PinnedPrice;
}

/** An item of a service, with its price as integers, and as it is pinned to a hold. */
export interface Item extends Omit<ServiceItem, 'price'> {
  service: CatalogService;
  price: Price;
  pinnedPrice: PinnedPrice;
}

/** The models and items at list prices, or at those of a plan. */
interface PricedModels {
  byId: ReadonlyMap<string, Model>;
  items: ReadonlyMap<string, Item>;
  /** True when at least one model is free, so that an account without money can use it. */
  hasFree: boolean;
}

/** Fields of a caller that decide its prices. */
type Plans = 'pricePlan' | 'nextPricePlan';

/** A price that is in force from a time on. */
export interface AnnouncedPrice {
  effectiveAt: string;
  price: PinnedPrice;
}

type ScheduledPrice = NonNullable<ModelListReply['scheduledPrices']>[number];

/**
 * Keeps a copy of the enabled models. While the catalog is unavailable, the last copy stays in use. A scheduled price is used from its time
 * on by the clock of this process, whether the catalog has made it a revision or not.
 */
export class CatalogClient {
  private models: PricedModels | undefined;
  private pricePlans: readonly PricePlan[] = [];
  /** Soonest first. */
  private scheduled: readonly ScheduledPrice[] = [];
  /** Time of the first one. */
  private nextPriceAt = Number.POSITIVE_INFINITY;
  /** Models in the plans that requests have used at this revision. */
  private readonly planned = new Map<string, PricedModels>();
  private readonly follower: RevisionFollower<ModelListReply>;
  private stopFollowing: (() => void) | undefined;

  /** `onModels` gets the ids of each catalog. */
  constructor(
    messaging: Messaging,
    private readonly logger: Logger,
    refreshMs: number,
    onModels?: (ids: readonly string[]) => void,
  ) {
    const apply = ({ models, pricePlans = [], services = [], scheduledPrices = [] }: ModelListReply): void => {
      this.models = pricedModels(models.map(parseModel), services.flatMap(parseItems));
      this.pricePlans = pricePlans;
      this.planned.clear();
      this.schedule(scheduledPrices);
      onModels?.([...this.models.byId.keys()]);
    };
    this.follower = new RevisionFollower(messaging, { endpoint: modelList, changed: catalogChanged, refreshMs, apply }, logger);
  }

  /** Nest lifecycle hook: follows the catalog. */
  onModuleInit(): void {
    this.stopFollowing = this.follower.start();
  }

  /** Nest lifecycle hook. */
  onApplicationShutdown(): void {
    this.stopFollowing?.();
  }

  get loaded(): boolean {
    return this.models !== undefined;
  }

  /**
   * Returns a model at the price of the caller's plan; ids are case-sensitive. Throws `model_not_found`, also for a model that the caller's key
   * may not use, and `model_unavailable` before the first catalog was received.
   */
  model(id: string, caller: Pick<Caller, 'mayUse' | Plans>): Model {
    const model = this.known(caller).byId.get(id);
    if (!model || caller.mayUse?.(id) === false) throw this.modelNotFound(id, caller);
    return model;
  }

  /** Returns an item of a service at the price of the caller's plan; undefined also for one that the caller's key may not use. */
  item(service: string, name: string, caller: Pick<Caller, 'mayUse' | Plans>): Item | undefined {
    const item = this.known(caller).items.get(`${service}/${name}`);
    return item && caller.mayUse?.(item.id) !== false ? item : undefined;
  }

  /** Says the same of a model that does not exist and of one that the key may not use: no client learns the names of those. */
  private modelNotFound(id: string, caller: Pick<Caller, 'mayUse' | Plans>): GatewayError {
    const ids = this.list(caller).map((model) => model.id);
    const nearest = findNearestModel(id, ids);
    const parts = [
      `There is no model ${JSON.stringify(shortened(id))}${caller.mayUse ? ' for this key' : ''}.`,
      ...(nearest === undefined ? [] : [`Did you mean ${nearest}?`]),
      ...(caller.mayUse ? [`This key may call ${describeModels(ids)}.`] : []),
    ];
    // Another model of the catalog is one that the key's list leaves out.
    const isLeftOut = caller.mayUse !== undefined && this.known(caller).byId.has(id);
    return new GatewayError('model_not_found', parts.join(' '), { param: 'model', ...(isLeftOut && { refusal: { by: 'key' as const } }) });
  }

  /** Returns the models that the caller's key may use, in the catalog's order. */
  list(caller: Pick<Caller, 'mayUse' | Plans>): Model[] {
    const { mayUse } = caller;
    const models = [...this.known(caller).byId.values()];
    return mayUse ? models.filter(({ id }) => mayUse(id)) : models;
  }

  /** Returns the prices of a model that replace each other from their times on, as the caller will pay them, soonest first. */
  announcedPrices(id: string, { pricePlan, nextPricePlan }: Pick<Caller, Plans>): AnnouncedPrice[] {
    const now = Date.now();
    const changes = this.scheduled
      .filter(({ model }) => model === id)
      .map(({ price, effectiveAt }) => ({ price, from: Date.parse(effectiveAt) }));
    const times = [...changes.map(({ from }) => from), ...(nextPricePlan ? [nextPricePlan.from] : [])].filter((from) => from > now);
    return [...new Set(times)]
      .sort((one, other) => one - other)
      .map((from) => {
        const list = changes.findLast((change) => change.from <= from)?.price ?? this.models?.byId.get(id)?.pinnedPrice;
        return {
          effectiveAt: new Date(from).toISOString(),
          price: this.priceInPlan(id, list as PinnedPrice, findPlan({ pricePlan, nextPricePlan }, from)),
        };
      });
  }

  private priceInPlan(id: string, list: PinnedPrice, pricePlan: string | undefined): PinnedPrice {
    const plan = this.pricePlans.find((one) => one.id === pricePlan);
    return plan ? pinInPlan(list.version, planPricing(plan)(id, parsePrice(list)), plan) : list;
  }

  /** True when a model costs the caller nothing. */
  hasFreeModel(plans: Pick<Caller, Plans>): boolean {
    return this.models !== undefined && this.known(plans).hasFree;
  }

  /** Requests the catalog again. Never rejects. */
  refresh(): Promise<void> {
    return this.follower.refresh();
  }

  private known(plans: Pick<Caller, Plans>): PricedModels {
    if (!this.models) {
      throw new GatewayError('model_unavailable', 'The models are not known yet. Try again.', { retryAfterSeconds: 1 });
    }
    if (this.nextPriceAt !== Number.POSITIVE_INFINITY && this.nextPriceAt <= Date.now()) this.takeDuePrices(this.models);
    const pricePlan = findPlan(plans);
    return pricePlan === undefined ? this.models : (this.planned.get(pricePlan) ?? this.inPlan(pricePlan, this.models));
  }

  private schedule(prices: readonly ScheduledPrice[]): void {
    this.scheduled = prices;
    this.nextPriceAt = prices[0] ? Date.parse(prices[0].effectiveAt) : Number.POSITIVE_INFINITY;
  }

  private takeDuePrices({ byId, items }: PricedModels): void {
    const now = Date.now();
    const isDue = ({ effectiveAt }: ScheduledPrice): boolean => Date.parse(effectiveAt) <= now;
    const prices = new Map(this.scheduled.filter(isDue).map(({ model, price }) => [model, price]));
    const repriced = <Entry extends Model | Item>(entry: Entry): Entry => {
      const price = prices.get(entry.id);
      return price ? { ...entry, pinnedPrice: price, price: parsePrice(price) } : entry;
    };
    this.models = pricedModels([...byId.values()].map(repriced), [...items.values()].map(repriced));
    this.planned.clear();
    this.schedule(this.scheduled.filter((price) => !isDue(price)));
  }

  /** Computes the prices of a plan once for each revision. In an unknown plan they are list prices: a request is never refused for it. */
  private inPlan(pricePlan: string, list: PricedModels): PricedModels {
    const plan = this.pricePlans.find(({ id }) => id === pricePlan);
    if (!plan) this.logger.warn({ pricePlan }, 'the catalog lacks the price plan of an account; its requests are billed at list prices');
    const models = plan ? pricedModels(inPlan([...list.byId.values()], plan), inPlan([...list.items.values()], plan)) : list;
    this.planned.set(pricePlan, models);
    return models;
  }
}

/** Models that an error names. */
const NAMED_MAX = 5;

/** Renders `sim-fast, sim-tiny and 3 more`. */
function describeModels(ids: readonly string[]): string {
  if (ids.length === 0) return 'none of the present models';
  const more = ids.length - NAMED_MAX;
  return `${ids.slice(0, NAMED_MAX).join(', ')}${more > 0 ? ` and ${more} more, see GET /v1/models` : ''}`;
}

/** Returns the plan that is in force at a time. Default: now. */
function findPlan({ pricePlan, nextPricePlan }: Pick<Caller, Plans>, at = Date.now()): string | undefined {
  return nextPricePlan && nextPricePlan.from <= at ? nextPricePlan.pricePlan : pricePlan;
}

function pricedModels(models: readonly Model[], items: readonly Item[]): PricedModels {
  return {
    byId: new Map(models.map((model) => [model.id, model])),
    items: new Map(items.map((item) => [item.id, item])),
    hasFree: models.some(({ price }) => price.inputPicoUsd === 0n && price.outputPicoUsd === 0n && price.requestPicoUsd === undefined),
  };
}

function parseModel({ price, ...model }: CatalogModel): Model {
  return { ...model, pinnedPrice: price, price: parsePrice(price) };
}

function parseItems({ items, ...service }: OfferedService): Item[] {
  return items.map(({ price, ...item }) => ({ ...item, service, pinnedPrice: price, price: parsePrice(price) }));
}

function inPlan<Entry extends Model | Item>(entries: readonly Entry[], plan: PricePlan): Entry[] {
  const findPrice = planPricing(plan);
  return entries.map((entry) => {
    const price = findPrice(entry.id, entry.price);
    return { ...entry, price, pinnedPrice: pinInPlan(entry.pinnedPrice.version, price, plan) };
  });
}

function pinInPlan(version: number, price: Price, plan: PricePlan): PinnedPrice {
  return { version, ...renderPriceText(price), pricePlan: plan.id };
}

import type { PinnedPrice } from '#contracts/billing/holds.js';
import { type CatalogModel, catalogChanged, modelList } from '#contracts/catalog.js';
import { GatewayError } from '#inference/errors.js';
import type { Messaging } from '#messaging/messaging.js';
import { parsePicoUsd } from '#money/pico-usd.js';
import type { Price } from '#money/price.js';
import type { Logger } from '#observability/logger.js';

/** A model with its price ready to compute with, and as it is pinned to a hold. */
export interface Model extends Omit<CatalogModel, 'price'> {
  price: Price;
  pinnedPrice: PinnedPrice;
}

/**
 * The enabled models, always at hand. Refreshed when the catalog says so, after a reconnect and now and then; while the
 * catalog is away the last known list serves.
 */
export class CatalogClient {
  private models: ReadonlyMap<string, Model> | undefined;
  private refreshing: Promise<void> | undefined;
  private stale = false;
  private failing = false;

  constructor(
    private readonly messaging: Messaging,
    private readonly logger: Logger,
    private readonly refreshMs: number,
  ) {}

  /** Begins to follow the catalog. Returns how to stop. */
  start(): () => void {
    const refresh = (): void => void this.refresh();
    const unsubscribe = this.messaging.subscribe(catalogChanged, refresh);
    this.messaging.onReconnect(refresh);
    const timer = setInterval(refresh, this.refreshMs).unref();
    refresh();
    return () => {
      clearInterval(timer);
      unsubscribe();
    };
  }

  get loaded(): boolean {
    return this.models !== undefined;
  }

  /** Throws `model_not_found`; `model_unavailable` while the catalog has never been read. Ids are case sensitive (spec 1). */
  model(id: string): Model {
    const model = this.known().get(id);
    if (!model) throw new GatewayError('model_not_found', `There is no model ${JSON.stringify(id.slice(0, 200))}.`, { param: 'model' });
    return model;
  }

  /** In the catalog's order. */
  list(): Model[] {
    return [...this.known().values()];
  }

  /** One load at a time; when asked meanwhile another follows, since it may know more, and is waited for. Never rejects. */
  refresh(): Promise<void> {
    this.stale = true;
    this.refreshing ??= this.loadWhileStale().finally(() => {
      this.refreshing = undefined;
    });
    return this.refreshing;
  }

  private async loadWhileStale(): Promise<void> {
    while (this.stale) {
      this.stale = false;
      await this.load();
    }
  }

  private async load(): Promise<void> {
    try {
      const { models } = await this.messaging.request(modelList, {});
      this.models = new Map(models.map((model) => [model.id, parseModel(model)]));
      this.failing = false;
    } catch (error) {
      // Once an outage: while nothing is known it is tried several times a second.
      if (!this.failing) this.logger.warn({ err: error, modelsKnown: this.models?.size ?? 0 }, 'catalog not refreshed, trying again');
      this.failing = true;
      if (!this.loaded) setTimeout(() => void this.refresh(), 250).unref();
    }
  }

  private known(): ReadonlyMap<string, Model> {
    if (!this.models) {
      throw new GatewayError('model_unavailable', 'The models are not known yet. Try again.', { retryAfterSeconds: 1 });
    }
    return this.models;
  }
}

function parseModel({ price, ...model }: CatalogModel): Model {
  return {
    ...model,
    pinnedPrice: price,
    price: {
      inputPicoUsd: parsePicoUsd(price.inputPicoUsd),
      cachedInputPicoUsd: parsePicoUsd(price.cachedInputPicoUsd),
      outputPicoUsd: parsePicoUsd(price.outputPicoUsd),
    },
  };
}

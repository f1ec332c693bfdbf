import type { PinnedPrice } from '#contracts/billing/holds.js';
import { type CatalogModel, catalogChanged, type ModelListReply, modelList } from '#contracts/catalog.js';
import { GatewayError } from '#inference/errors.js';
import type { Messaging } from '#messaging/messaging.js';
import { RevisionFollower } from '#messaging/revision-follower.js';
import { parsePicoUsd } from '#money/pico-usd.js';
import type { Price } from '#money/price.js';
import type { Logger } from '#observability/logger.js';
import type { Caller } from './caller.js';

/** A model with its price as integers, and as it is pinned to a hold. */
export interface Model extends Omit<CatalogModel, 'price'> {
  price: Price;
  pinnedPrice: PinnedPrice;
}

/** Keeps a copy of the enabled models. While the catalog is unavailable, the last copy stays in use. */
export class CatalogClient {
  private models: ReadonlyMap<string, Model> | undefined;
  /** True when at least one model is free, so that an account without money can use it. */
  hasFreeModel = false;
  private readonly follower: RevisionFollower<ModelListReply>;
  private stopFollowing: (() => void) | undefined;

  /** `onModels` gets the ids of each catalog. */
  constructor(messaging: Messaging, logger: Logger, refreshMs: number, onModels?: (ids: readonly string[]) => void) {
    const apply = ({ models }: ModelListReply): void => {
      this.models = new Map(models.map((model) => [model.id, parseModel(model)]));
      this.hasFreeModel = [...this.models.values()].some(({ price }) => price.inputPicoUsd === 0n && price.outputPicoUsd === 0n);
      onModels?.([...this.models.keys()]);
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
   * Returns a model; ids are case-sensitive. Throws `model_not_found`, also for a model that the caller's key may not use, and
   * `model_unavailable` before the first catalog was received.
   */
  model(id: string, { mayUse }: Pick<Caller, 'mayUse'>): Model {
    const model = this.known().get(id);
    if (!model || mayUse?.(id) === false)
      throw new GatewayError('model_not_found', `There is no model ${JSON.stringify(id.slice(0, 200))}.`, { param: 'model' });
    return model;
  }

  /** Returns the models that the caller's key may use, in the catalog's order. */
  list({ mayUse }: Pick<Caller, 'mayUse'>): Model[] {
    const models = [...this.known().values()];
    return mayUse ? models.filter(({ id }) => mayUse(id)) : models;
  }

  /** Requests the catalog again. Never rejects. */
  refresh(): Promise<void> {
    return this.follower.refresh();
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

import type { Route, Upstream } from '#contracts/catalog.js';
import type { Price } from '#money/price.js';
import type { WantedModel, WantedPricePlan, WantedService } from '../file/parse-catalog-file.js';
import type { VersionedPrice } from './price-version.js';

/** Fields of every entry: its position in the file, and whether the file still names it. */
interface Listed {
  enabled: boolean;
  position: number;
}

export type StoredUpstream = Upstream & Listed;
export type StoredRoute = Route & Listed;
export type StoredPricePlan = WantedPricePlan & Listed;
export type StoredService = WantedService & Listed;

export interface StoredModel extends Omit<WantedModel, 'created' | 'price' | 'routes'>, Listed {
  created: number;
  /** The latest version. */
  price: VersionedPrice;
  routes: StoredRoute[];
}

/** The catalog in the tables, disabled rows included, in the order of the file. */
export interface CatalogState {
  revision: number;
  upstreams: StoredUpstream[];
  models: StoredModel[];
  pricePlans: StoredPricePlan[];
  services: StoredService[];
  /** Prices whose time has not come, soonest first. */
  scheduledPrices: WaitingPrice[];
}

/** A scheduled price that is neither applied nor cancelled. */
export interface WaitingPrice {
  id: string;
  modelId: string;
  price: Price;
  effectiveAt: Date;
}

/** The entries of the catalog, without its revision and what is scheduled. */
export type CatalogEntries = Omit<CatalogState, 'revision' | 'scheduledPrices'>;

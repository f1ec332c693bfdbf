import type {
  CatalogApplyReply,
  CatalogApplyRequest,
  CatalogChanges,
  CatalogModel,
  ModelListReply,
  PriceChange,
} from '#contracts/catalog.js';
import type {
  CatalogDifferences,
  CatalogFault,
  CatalogGetReply,
  CatalogPlanReply,
  CatalogPlanRequest,
  CatalogRevision,
  EntryDifferences,
  RevisionListReply,
} from '#contracts/catalog-revisions.js';
import type { PriceListReply, PriceScheduleRequest, ScheduledPrice } from '#contracts/scheduled-prices.js';

/** `GET /models`: enabled models with capabilities and prices, and the revision of the catalog. */
/** `GET /catalog?revision` replies `CatalogGetReply`. `GET /catalog/revisions?limit&cursor` replies `RevisionListReply`, newest first. */
export type { CatalogChanges, CatalogGetReply, CatalogModel, CatalogRevision, ModelListReply, PriceChange, RevisionListReply };

/** `POST /catalog/plan`. Replies `CatalogPlanReply`; changes nothing. */
export type CatalogPlanBody = Omit<CatalogPlanRequest, 'appliedBy'>;
export type { CatalogDifferences, CatalogFault, CatalogPlanReply, EntryDifferences };

/** `POST /catalog/apply`. Replies `CatalogApplyReply`; 409 `conflict` when another revision than `expectedRevision` is current. */
export type CatalogApplyBody = CatalogApplyRequest;
/** `GET /prices/scheduled` replies `PriceListReply`, soonest first. `DELETE /prices/scheduled/{scheduledPriceId}` replies `ScheduledPrice`. */
export type { CatalogApplyReply, PriceListReply, ScheduledPrice };

/** `POST /prices/scheduled`. Replies `ScheduledPrice`. */
export type PriceScheduleBody = PriceScheduleRequest;

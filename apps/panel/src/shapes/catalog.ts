import { IsOptional } from 'class-validator';
import { Text } from '#contracts/billing/fields.js';
import type {
  CatalogApplyReply,
  CatalogApplyRequest,
  CatalogChanges,
  CatalogModel,
  OfferedService,
  PriceChange,
  PricePlan,
  ModelListReply as WholeModelList,
} from '#contracts/catalog.js';
import type {
  CatalogDifferences,
  CatalogFault,
  CatalogGetReply,
  CatalogPlanRequest,
  CatalogRevision,
  EntryDifferences,
  CatalogPlanReply as PlanReply,
  RevisionListReply,
} from '#contracts/catalog-revisions.js';
import type { UpstreamCheck, UpstreamProbeEnd } from '#contracts/probe.js';
import type { ReplicaStatus } from '#contracts/replica-status.js';
import type { RouteState } from '#contracts/route-state.js';
import type { RouteStatus, RouteStatusReply } from '#contracts/route-status.js';
import type { PriceListReply, PriceScheduleRequest, ScheduledPrice } from '#contracts/scheduled-prices.js';

/** A service with its items. Its ceilings are there for who may read the catalog. */
interface ShownService extends Pick<OfferedService, 'id' | 'items'>, Partial<Omit<OfferedService, 'id' | 'items'>> {}

/** `GET /models`: enabled models and items of services with prices, and the revision of the catalog. */
export interface ModelListReply extends Omit<WholeModelList, 'services'> {
  /** Absent: none. */
  services?: ShownService[];
}

/** `GET /catalog?revision` replies `CatalogGetReply`. `GET /catalog/revisions?limit&cursor` replies `RevisionListReply`, newest first. */
export type { CatalogChanges, CatalogGetReply, CatalogModel, CatalogRevision, PriceChange, PricePlan, RevisionListReply };

/** `POST /catalog/plan`. Replies `CatalogPlanReply`; changes nothing. */
export type CatalogPlanBody = Omit<CatalogPlanRequest, 'appliedBy' | 'withPrices'>;
export type CatalogPlanReply = Omit<PlanReply, 'prices'>;
export type { CatalogDifferences, CatalogFault, EntryDifferences };

/** `POST /catalog/apply`. Replies `CatalogApplyReply`; 409 `conflict` when another revision than `expectedRevision` is current. */
export type CatalogApplyBody = CatalogApplyRequest;
/** `GET /prices/scheduled` replies `PriceListReply`, soonest first. `DELETE /prices/scheduled/{scheduledPriceId}` replies `ScheduledPrice`. */
export type { CatalogApplyReply, PriceListReply, ScheduledPrice };

/** `POST /prices/scheduled`. Replies `ScheduledPrice`. */
export type PriceScheduleBody = PriceScheduleRequest;

export type { RouteState };

/** `GET /upstreams`: routes as each replica of the inference-proxy sees them. */
export interface UpstreamsReply {
  replicas: UpstreamReplica[];
}

export type UpstreamReplica = Omit<RouteStatusReply, 'routes'> & { routes: UpstreamRoute[] };

/** `advice` tells what to check on a route that is not up, or whose every call failed. Null: nothing. */
export type UpstreamRoute = RouteStatus & { state: RouteState; advice: string | null };

/** `GET /services`: replicas that answer, by service and start. */
export interface ServicesReply {
  replicas: ReplicaStatus[];
}
export type { ReplicaStatus };

// `POST /upstreams/{upstreamId}/test`. Replies server-sent events: one `test-start`, a `check-end` for each check, one `test-end`.
/** The inference-proxy knows which ids and models exist. */
export class UpstreamTestRequest {
  @Text(64) upstreamId!: string;
  /** Model name at the upstream. Default: the models of its routes, the first in full. */
  @IsOptional() @Text(256) model?: string;
}

export type { UpstreamCheck, UpstreamProbeEnd };

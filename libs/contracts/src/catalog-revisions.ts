import { IsBoolean, IsIn, IsInt, IsOptional, IsString, Length, Max, Min } from 'class-validator';
import type { Caller } from './audit.js';
import { Id, type Paged } from './billing/fields.js';
import type { CatalogChanges, CatalogModel, PriceChange } from './catalog.js';
import { Endpoint } from './endpoint.js';
import type { PriceComparison } from './price-comparison.js';
import { REVISION_MAX } from './revisions.js';

/** A change of the catalog, and its author. */
export interface CatalogRevision extends Caller {
  revision: number;
  at: string;
  /** Id of its audit entry. */
  auditId: string;
  /** Name that the sender gave the file. Null for a scheduled price. */
  fileName: string | null;
  /** The scheduled price that made it. Null for a file. */
  scheduledPriceId: string | null;
  reason: string | null;
  /** Null when it was recorded by hand. */
  changes: CatalogChanges | null;
}

export class CatalogGetRequest {
  /** Default: the current one. */
  @IsOptional() @IsInt() @Min(1) @Max(REVISION_MAX) revision?: number;
}

export interface CatalogGetReply extends CatalogRevision {
  /**
   * The YAML text that was applied last at this revision. A scheduled price changes the text of the revision before. Null: none was.
   */
  yaml: string | null;
  currentRevision: number;
  /** False: `CATALOG_EDITING` is off, and the catalog service applies its file alone. */
  editing: boolean;
}

/** Error: `not_found` for an unknown revision, and before the first one. */
export const catalogGet = new Endpoint<CatalogGetRequest, CatalogGetReply>('catalog.v1.catalog.get', CatalogGetRequest, {
  about: 'Text and author of a revision of the catalog',
});

export class CatalogPlanRequest {
  /** YAML text of a whole catalog. */
  @IsString() @Length(1, 1_000_000) yaml!: string;
  /** User who would apply the text. Default: `cli`. With `PANEL_PRIVATE_NETWORK=off` the panel may apply less. */
  @IsOptional() @IsIn(['cli', 'panel']) appliedBy?: 'cli' | 'panel';
  /** True: the reply has the prices of both catalogs. */
  @IsOptional() @IsBoolean() withPrices?: boolean;
}

export interface CatalogFault {
  /** From 1. */
  line: number;
  /** Field in the notation of the file, `models[0].price`. Empty for the whole file. */
  field: string;
  problem: string;
}

export interface CatalogPlanReply {
  /** Revision that the text was compared with. Send it as `expectedRevision` of the apply. */
  revision: number;
  /** Faults in the order of the file, at most 100. Empty when the text can be applied. */
  faults: CatalogFault[];
  /** Changes that the apply would make. Null when there are none, or faults. */
  changes: CatalogDifferences | null;
  /** The present prices and those after the apply, if it was asked for and one differs. */
  prices?: PriceComparison;
}

/** Changes with the values of the fields, without changes of the order alone. */
export interface CatalogDifferences {
  models: EntryDifferences;
  upstreams: EntryDifferences;
  /** Models with a new price version. */
  repriced: PriceChange[];
  /** Prices of models that were never in the catalog. Absent: none is new. */
  firstPrices?: { model: string; price: CatalogModel['price'] }[];
  /** Absent: no price plan would change. */
  pricePlans?: EntryDifferences;
  /** Absent: no service would change. Items are among the models. */
  services?: EntryDifferences;
}

export interface EntryDifferences {
  /** Ids that are new or enabled again. */
  added: string[];
  changed: EntryDifference[];
  /** Ids that are enabled now and would not be. */
  disabled: string[];
}

export interface EntryDifference {
  id: string;
  fields: FieldDifference[];
}

/** Values with their defaults filled in, as the file has them; null for none. */
export interface FieldDifference {
  field: string;
  before: unknown;
  after: unknown;
}

export const catalogPlan = new Endpoint<CatalogPlanRequest, CatalogPlanReply>('catalog.v1.catalog.plan', CatalogPlanRequest, {
  about: 'Faults of a catalog, or the changes that applying it would make; changes nothing',
});

export class RevisionListRequest {
  /** Revisions on one page. Default 50. */
  @IsOptional() @IsInt() @Min(1) @Max(200) limit?: number;
  /** `nextCursor` of the page before. */
  @IsOptional() @Id() cursor?: string;
}

export interface RevisionListReply extends Paged {
  revisions: CatalogRevision[];
}

export const revisionList = new Endpoint<RevisionListRequest, RevisionListReply>('catalog.v1.revision.list', RevisionListRequest, {
  about: 'Revisions of the catalog with their authors and changes, newest first; catalog.get has their texts',
});

import { Controller } from '@nestjs/common';
import { readSecret } from '#config/load-config.js';
import {
  CatalogGetRequest,
  CatalogPlanRequest,
  catalogGet,
  catalogPlan,
  RevisionListRequest,
  revisionList,
} from '#contracts/catalog-revisions.js';
import { Serves } from '#messaging/serves.js';
import { CatalogStore } from './apply/catalog-store.js';
import { planCatalog } from './apply/plan-catalog.js';
import { Editing } from './editing.js';
import { Revisions } from './revisions/revisions.js';

@Controller()
export class RevisionsController {
  constructor(
    private readonly revisions: Revisions,
    private readonly store: CatalogStore,
    private readonly editing: Editing,
  ) {}

  @Serves(catalogGet)
  async get({ revision }: CatalogGetRequest) {
    return { ...(await this.revisions.get(revision)), editing: this.editing.isOn };
  }

  @Serves(catalogPlan)
  async plan({ yaml, appliedBy: via = 'cli', withPrices }: CatalogPlanRequest) {
    const privateUpstreams = await this.editing.privateUpstreamsFor({ via });
    return planCatalog(this.store, yaml, readSecret, { privateUpstreams, withPrices });
  }

  @Serves(revisionList)
  list(request: RevisionListRequest) {
    return this.revisions.list(request);
  }
}

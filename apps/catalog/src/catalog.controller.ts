import { Controller } from '@nestjs/common';
import { CatalogApplyRequest, catalogApply, modelList, routeList } from '#contracts/catalog.js';
import type { RevisionRequest } from '#contracts/revisions.js';
import { ServiceError } from '#contracts/service-error.js';
import type { CallContext } from '#messaging/messaging.js';
import { Serves } from '#messaging/serves.js';
import { Applier } from './apply/applier.js';
import { Editing } from './editing.js';
import { CatalogFileError } from './file/catalog-file-error.js';
import { Snapshot } from './snapshot.js';

@Controller()
export class CatalogController {
  constructor(
    private readonly snapshot: Snapshot,
    private readonly applier: Applier,
    private readonly editing: Editing,
  ) {}

  @Serves(modelList)
  listModels({ known }: RevisionRequest) {
    return this.snapshot.modelList(known);
  }

  @Serves(routeList)
  listRoutes({ known }: RevisionRequest) {
    return this.snapshot.routeList(known);
  }

  @Serves(catalogApply)
  async apply(request: CatalogApplyRequest, { caller }: CallContext) {
    this.editing.require();
    try {
      return await this.applier.apply(request, caller, await this.editing.privateUpstreamsFor(caller));
    } catch (error) {
      if (error instanceof CatalogFileError) throw new ServiceError('invalid_request', error.message, 'yaml');
      throw error;
    }
  }
}

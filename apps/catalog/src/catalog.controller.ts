import { Controller } from '@nestjs/common';
import {
  type CatalogApplyReply,
  CatalogApplyRequest,
  catalogApply,
  type ModelListReply,
  modelList,
  type RouteListReply,
  routeList,
} from '#contracts/catalog.js';
import { ServiceError } from '#contracts/service-error.js';
import { Serves } from '#messaging/serves.js';
import { Applier } from './apply/applier.js';
import { CatalogFileError } from './file/catalog-file-error.js';
import { Snapshot } from './snapshot.js';

@Controller()
export class CatalogController {
  constructor(
    private readonly snapshot: Snapshot,
    private readonly applier: Applier,
  ) {}

  @Serves(modelList)
  async listModels(): Promise<ModelListReply> {
    return this.snapshot.modelList;
  }

  @Serves(routeList)
  async listRoutes(): Promise<RouteListReply> {
    return this.snapshot.routeList;
  }

  @Serves(catalogApply)
  async apply({ yaml, fileName }: CatalogApplyRequest): Promise<CatalogApplyReply> {
    try {
      return await this.applier.apply(yaml, fileName ?? 'catalog.yaml');
    } catch (error) {
      if (error instanceof CatalogFileError) throw new ServiceError('invalid_request', error.message, 'yaml');
      throw error;
    }
  }
}

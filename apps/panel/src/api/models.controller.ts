import { Controller, Req } from '@nestjs/common';
import { CatalogApplyRequest, catalogApply, modelList } from '#contracts/catalog.js';
import { Handles } from '../http/handles.decorator.js';
import type { PanelRequest } from '../http/panel-request.js';
import { Services } from '../services/services.js';
import { Input } from './input.decorator.js';
import type { CatalogApplyReply, ModelListReply } from './shapes/models.js';

@Controller()
export class ModelsController {
  constructor(private readonly services: Services) {}

  @Handles('listModels')
  list(): Promise<ModelListReply> {
    return this.services.ask(modelList, {});
  }

  @Handles('applyCatalog')
  apply(@Req() request: PanelRequest, @Input(CatalogApplyRequest) message: CatalogApplyRequest): Promise<CatalogApplyReply> {
    return this.services.change(request, catalogApply, message);
  }
}

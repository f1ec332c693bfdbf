import type { ServerResponse } from 'node:http';
import { Controller, Get, Param, Req, Res, UseGuards } from '@nestjs/common';
import { BillingClient } from '../../clients/billing.js';
import { CatalogClient } from '../../clients/catalog.js';
import { type GatewayRequest, requireCaller } from '../http-exchange.js';
import { ApiKeyGuard } from '../limits/api-key.guard.js';
import { writeJson } from '../replies/write-reply.js';
import { isAnthropicClient, ROUTES } from '../routes.js';
import { renderModel, renderModelInfo, renderModelList, renderModelPage } from './render-models.js';

/** Endpoints for the models of a key and the balance of its account. Free of charge. */
@Controller()
@UseGuards(ApiKeyGuard)
export class AccountController {
  constructor(
    private readonly catalog: CatalogClient,
    private readonly billing: BillingClient,
  ) {}

  @Get(ROUTES.models.path)
  models(@Req() { exchange, headers }: GatewayRequest, @Res() response: ServerResponse): void {
    const models = this.catalog.list(requireCaller(exchange));
    writeJson(exchange, response, JSON.stringify(isAnthropicClient(headers) ? renderModelPage(models) : renderModelList(models)));
  }

  @Get(ROUTES.model.path)
  model(@Req() { exchange, headers }: GatewayRequest, @Res() response: ServerResponse, @Param('id') id: string): void {
    const model = this.catalog.model(id, requireCaller(exchange));
    writeJson(exchange, response, JSON.stringify(isAnthropicClient(headers) ? renderModelInfo(model) : renderModel(model)));
  }

  @Get(ROUTES.balance.path)
  async balance(@Req() { exchange }: GatewayRequest, @Res() response: ServerResponse): Promise<void> {
    writeJson(exchange, response, JSON.stringify(await this.billing.balance(requireCaller(exchange).accountId)));
  }
}

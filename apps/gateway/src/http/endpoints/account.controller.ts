import type { ServerResponse } from 'node:http';
import { Controller, Get, Param, Req, Res, UseGuards } from '@nestjs/common';
import { BillingClient } from '../../clients/billing.js';
import { CatalogClient, type Model } from '../../clients/catalog.js';
import { callerOf, type GatewayRequest } from '../http-exchange.js';
import { ApiKeyGuard } from '../limits/api-key.guard.js';
import { writeJson } from '../replies/write-reply.js';
import { ROUTES } from '../routes.js';

/** Endpoints for the models of a key and the balance of its account. Free of charge. */
@Controller()
@UseGuards(ApiKeyGuard)
export class AccountController {
  constructor(
    private readonly catalog: CatalogClient,
    private readonly billing: BillingClient,
  ) {}

  @Get(ROUTES.models.path)
  models(@Req() { exchange }: GatewayRequest, @Res() response: ServerResponse): void {
    writeJson(exchange, response, JSON.stringify({ object: 'list', data: this.catalog.list().map(renderModel) }));
  }

  @Get(ROUTES.model.path)
  model(@Req() { exchange }: GatewayRequest, @Res() response: ServerResponse, @Param('id') id: string): void {
    writeJson(exchange, response, JSON.stringify(renderModel(this.catalog.model(id))));
  }

  @Get(ROUTES.balance.path)
  async balance(@Req() { exchange }: GatewayRequest, @Res() response: ServerResponse): Promise<void> {
    writeJson(exchange, response, JSON.stringify(await this.billing.balance(callerOf(exchange).accountId)));
  }
}

/** Renders exactly the four public fields of a model. */
function renderModel({ id, created, ownedBy }: Model): { object: 'model'; id: string; created: number; owned_by: string } {
  return { object: 'model', id, created, owned_by: ownedBy };
}

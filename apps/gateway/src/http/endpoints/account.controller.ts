import type { ServerResponse } from 'node:http';
import { Controller, Get, Param, Req, Res, UseGuards } from '@nestjs/common';
import { GatewayError } from '#inference/errors.js';
import { BillingClient } from '../../clients/billing.js';
import { CatalogClient, type Model } from '../../clients/catalog.js';
import type { GatewayRequest } from '../http-exchange.js';
import { ApiKeyGuard } from '../limits/api-key.guard.js';
import { writeJson } from '../replies/write-reply.js';
import { ROUTES } from '../routes.js';

/** What a key can call and what its account has. Free; touches no balance (spec 1). */
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
    if (!exchange.caller) throw new GatewayError('internal_error', 'The route is not guarded.');
    writeJson(exchange, response, JSON.stringify(await this.billing.balance(exchange.caller.accountId)));
  }
}

/** Spec 2.1: these fields and no others. */
function renderModel({ id, created, ownedBy }: Model): { object: 'model'; id: string; created: number; owned_by: string } {
  return { object: 'model', id, created, owned_by: ownedBy };
}

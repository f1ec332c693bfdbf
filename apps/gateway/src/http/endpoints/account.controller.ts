import type { ServerResponse } from 'node:http';
import { Controller, Get, Param, Req, Res, UseGuards } from '@nestjs/common';
import { BillingClient } from '../../clients/billing.js';
import type { Caller } from '../../clients/caller.js';
import { CatalogClient, type Model } from '../../clients/catalog.js';
import { GatewayConfig } from '../../gateway.config.js';
import { type GatewayRequest, requireCaller } from '../http-exchange.js';
import { ApiKeyGuard } from '../limits/api-key.guard.js';
import { writeJson } from '../replies/write-reply.js';
import { isAnthropicClient, ROUTES } from '../routes.js';
import { renderModel, renderModelFacts, renderModelInfo, renderModelList } from './render-models.js';

/** Endpoints for the models of a key and the balance of its account. Free of charge. */
@Controller()
@UseGuards(ApiKeyGuard)
export class AccountController {
  constructor(
    private readonly catalog: CatalogClient,
    private readonly billing: BillingClient,
    private readonly config: GatewayConfig,
  ) {}

  @Get(ROUTES.models.path)
  models(@Req() { exchange, headers }: GatewayRequest, @Res() response: ServerResponse): void {
    const caller = requireCaller(exchange);
    const isAnthropic = isAnthropicClient(headers);
    const models = this.catalog.list(caller).map((model) => this.render(model, caller, isAnthropic, this.config.modelFacts === 'all'));
    writeJson(exchange, response, JSON.stringify(renderModelList(models, isAnthropic)));
  }

  @Get(ROUTES.model.path)
  model(@Req() { exchange, headers }: GatewayRequest, @Res() response: ServerResponse, @Param('id') id: string): void {
    const caller = requireCaller(exchange);
    const model = this.catalog.model(id, caller);
    writeJson(
      exchange,
      response,
      JSON.stringify(this.render(model, caller, isAnthropicClient(headers), this.config.modelFacts !== 'none')),
    );
  }

  @Get(ROUTES.balance.path)
  async balance(@Req() { exchange }: GatewayRequest, @Res() response: ServerResponse): Promise<void> {
    writeJson(exchange, response, JSON.stringify(await this.billing.balance(requireCaller(exchange).accountId)));
  }

  private render(model: Model, caller: Caller, isAnthropic: boolean, hasFacts: boolean) {
    const fields = isAnthropic ? renderModelInfo(model) : renderModel(model);
    return hasFacts ? { ...fields, ...renderModelFacts(model, this.catalog.announcedPrices(model.id, caller)) } : fields;
  }
}

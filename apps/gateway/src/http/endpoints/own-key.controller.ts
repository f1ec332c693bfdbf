import type { ServerResponse } from 'node:http';
import { Controller, Get, Param, Req, Res, UseGuards } from '@nestjs/common';
import { OwnKeys } from '../../clients/own-keys.js';
import { type GatewayRequest, requireCaller } from '../http-exchange.js';
import { ApiKeyGuard } from '../limits/api-key.guard.js';
import { writeJson } from '../replies/write-reply.js';
import { ROUTES } from '../routes.js';
import { nameOwner } from './name-owner.js';
import { parseUsageQuery } from './parse-usage-query.js';
import { renderOwnKey, renderRequest, renderUsage } from './render-own-key.js';

/** Endpoints with which the owner of a key sees its limits, its usage and its requests, and those of no other key. Free of charge. */
@Controller()
@UseGuards(ApiKeyGuard)
export class OwnKeyController {
  constructor(private readonly keys: OwnKeys) {}

  @Get(ROUTES.key.path)
  async key(@Req() { exchange }: GatewayRequest, @Res() response: ServerResponse): Promise<void> {
    writeJson(
      exchange,
      response,
      JSON.stringify(renderOwnKey(await this.keys.show(requireCaller(exchange)), requireCaller(exchange).parent?.levels)),
    );
  }

  @Get(ROUTES.usage.path)
  async usage(@Req() { exchange, url }: GatewayRequest, @Res() response: ServerResponse): Promise<void> {
    const query = parseUsageQuery(new URL(url ?? '/', 'http://gateway').searchParams);
    writeJson(exchange, response, JSON.stringify(renderUsage(await this.keys.usage({ ...query, ...nameOwner(exchange) }))));
  }

  @Get(ROUTES.request.path)
  async request(@Req() { exchange }: GatewayRequest, @Res() response: ServerResponse, @Param('id') requestId: string): Promise<void> {
    writeJson(exchange, response, JSON.stringify(renderRequest(await this.keys.request({ ...nameOwner(exchange), requestId }))));
  }
}

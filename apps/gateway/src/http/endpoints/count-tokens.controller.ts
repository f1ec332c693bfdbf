import type { ServerResponse } from 'node:http';
import { Controller, Post, Req, Res, UseGuards } from '@nestjs/common';
import { estimatePromptTokens } from '#inference/estimate-tokens.js';
import { CatalogClient } from '../../clients/catalog.js';
import { checkImages, checkKind } from '../../pipeline/quote.js';
import { BodyParser } from '../bodies/body-parser.js';
import { BodyReader } from '../bodies/read-body.js';
import { type GatewayRequest, requireCaller } from '../http-exchange.js';
import { ApiKeyGuard } from '../limits/api-key.guard.js';
import { writeJson } from '../replies/write-reply.js';
import { ROUTES } from '../routes.js';

/** Estimates the tokens of a prompt with the estimator that also computes the output cap. Free of charge; makes no hold and runs no model. */
@Controller()
@UseGuards(ApiKeyGuard)
export class CountTokensController {
  constructor(
    private readonly catalog: CatalogClient,
    private readonly bodies: BodyReader,
    private readonly parser: BodyParser,
  ) {}

  @Post(ROUTES.countTokens.path)
  async countTokens(@Req() request: GatewayRequest, @Res() response: ServerResponse): Promise<void> {
    try {
      const { exchange } = request;
      const bytes = await this.bodies.read(request, response);
      const prompt = await this.parser.parseCount({ bytes, owner: requireCaller(exchange), stopped: exchange.stopped });
      const model = this.catalog.model(prompt.model, requireCaller(exchange));
      checkKind(model, prompt.size);
      checkImages(model, prompt.size);
      writeJson(exchange, response, JSON.stringify({ input_tokens: estimatePromptTokens(prompt.size, model) }));
    } finally {
      this.bodies.release(request);
    }
  }
}

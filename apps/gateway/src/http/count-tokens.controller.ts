import type { ServerResponse } from 'node:http';
import { Controller, Post, Req, Res, UseGuards } from '@nestjs/common';
import { estimatePromptTokens } from '#inference/estimate-tokens.js';
import { measurePrompt } from '#inference/prompt-size.js';
import { CatalogClient } from '../clients/catalog.js';
import { checkCapabilities } from '../pipeline/quote.js';
import { parseCountRequest } from '../protocols/messages/request.js';
import { ApiKeyGuard } from './api-key.guard.js';
import type { GatewayRequest } from './exchange.js';
import { parseJson } from './parse-json.js';
import { BodyReader } from './read-body.js';
import { ROUTES } from './routes.js';
import { writeJson } from './write-reply.js';

/** How large a prompt is, by the estimator that also checks contexts. Free; no hold, no limit, no model is run (spec 4.6). */
@Controller()
@UseGuards(ApiKeyGuard)
export class CountTokensController {
  constructor(
    private readonly catalog: CatalogClient,
    private readonly bodies: BodyReader,
  ) {}

  @Post(ROUTES.countTokens.path)
  async countTokens(@Req() request: GatewayRequest, @Res() response: ServerResponse): Promise<void> {
    try {
      const prompt = parseCountRequest(parseJson(await this.bodies.read(request, response)));
      const model = this.catalog.model(prompt.model);
      const size = measurePrompt(prompt, model.reasoningEcho);
      checkCapabilities(model, size);
      const inputTokens = estimatePromptTokens(size, model.tokensPerImageMax);
      writeJson(request.exchange, response, JSON.stringify({ input_tokens: inputTokens }));
    } finally {
      this.bodies.release(request);
    }
  }
}

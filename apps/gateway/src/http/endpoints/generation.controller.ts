import type { ServerResponse } from 'node:http';
import { Controller, Post, Req, Res, UseGuards } from '@nestjs/common';
import { ADAPTERS } from '../../protocols/adapters.js';
import type { GatewayRequest } from '../http-exchange.js';
import { ApiKeyGuard } from '../limits/api-key.guard.js';
import { ROUTES } from '../routes.js';
import { GenerationHandler } from './generation-handler.js';

/** The endpoints that run a model, one method for each format. */
@Controller()
@UseGuards(ApiKeyGuard)
export class GenerationController {
  constructor(private readonly handler: GenerationHandler) {}

  @Post(ROUTES.chatCompletions.path)
  chatCompletions(@Req() request: GatewayRequest, @Res() response: ServerResponse): Promise<void> {
    return this.handler.handle(ADAPTERS.chat, request, response);
  }

  @Post(ROUTES.embeddings.path)
  embeddings(@Req() request: GatewayRequest, @Res() response: ServerResponse): Promise<void> {
    return this.handler.embed(request, response);
  }

  @Post(ROUTES.responses.path)
  responses(@Req() request: GatewayRequest, @Res() response: ServerResponse): Promise<void> {
    return this.handler.handle(ADAPTERS.responses, request, response);
  }

  @Post(ROUTES.messages.path)
  messages(@Req() request: GatewayRequest, @Res() response: ServerResponse): Promise<void> {
    return this.handler.handle(ADAPTERS.messages, request, response);
  }
}

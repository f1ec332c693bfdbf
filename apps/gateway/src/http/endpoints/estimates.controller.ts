import type { ServerResponse } from 'node:http';
import { Controller, Post, Req, Res, UseGuards } from '@nestjs/common';
import { estimatePromptTokens } from '#inference/estimate-tokens.js';
import { measurePrompt } from '#inference/prompt-size.js';
import { BillingClient } from '../../clients/billing.js';
import { CatalogClient } from '../../clients/catalog.js';
import { findRefusals } from '../../clients/find-refusals.js';
import { OwnKeys } from '../../clients/own-keys.js';
import { EncodedRequest } from '../../encoded-request.js';
import { limitCost } from '../../pipeline/max-cost.js';
import { quoteRequest } from '../../pipeline/quote.js';
import { digestBody, Quotes } from '../../pipeline/quotes.js';
import { ADAPTERS } from '../../protocols/adapters.js';
import type { ParsedRequest } from '../../protocols/protocol-adapter.js';
import { readAttribution } from '../attribution.js';
import { BodyParser } from '../bodies/body-parser.js';
import type { BodyFormat } from '../bodies/parse-large-body.js';
import { BodyReader } from '../bodies/read-body.js';
import { type GatewayRequest, requireCaller } from '../http-exchange.js';
import { ApiKeyGuard } from '../limits/api-key.guard.js';
import { readMaxCost } from '../max-cost-header.js';
import { writeJson } from '../replies/write-reply.js';
import { ROUTES } from '../routes.js';
import { renderEstimate, renderSigned } from './render-estimate.js';

/** Say what a request would cost at most, by the code that quotes those that run. Free of charge; make no hold and run no model. */
@Controller()
@UseGuards(ApiKeyGuard)
export class EstimatesController {
  constructor(
    private readonly catalog: CatalogClient,
    private readonly billing: BillingClient,
    private readonly keys: OwnKeys,
    private readonly bodies: BodyReader,
    private readonly parser: BodyParser,
    private readonly quotes: Quotes,
  ) {}

  @Post(ROUTES.estimateChat.path)
  chat(@Req() request: GatewayRequest, @Res() response: ServerResponse): Promise<void> {
    return this.estimate(ADAPTERS.chat, request, response);
  }

  @Post(ROUTES.estimateResponse.path)
  responses(@Req() request: GatewayRequest, @Res() response: ServerResponse): Promise<void> {
    return this.estimate(ADAPTERS.responses, request, response);
  }

  @Post(ROUTES.estimateMessage.path)
  messages(@Req() request: GatewayRequest, @Res() response: ServerResponse): Promise<void> {
    return this.estimate(ADAPTERS.messages, request, response);
  }

  private async estimate<Parsed extends ParsedRequest>(
    format: BodyFormat<Parsed>,
    request: GatewayRequest,
    response: ServerResponse,
  ): Promise<void> {
    const { exchange, headers } = request;
    try {
      const caller = requireCaller(exchange);
      const bytes = await this.bodies.read(request, response);
      const isQuoted = wantsQuote(request.url);
      const bodyDigest = isQuoted ? digestBody(bytes) : '';
      const body = { bytes, owner: caller, stopped: exchange.stopped, onSent: () => undefined };
      const parsed = await this.parser.parseGeneration(format, body);
      const attribution = readAttribution(headers, parsed.attribution, caller);
      const model = this.catalog.model(parsed.request.model, caller);
      const quote = limitCost(quoteRequest(model, parsed.request), readMaxCost(headers));
      const size = parsed.request instanceof EncodedRequest ? parsed.request.size : measurePrompt(parsed.request);
      const refusals = await findRefusals(this.billing, this.keys, { caller, attribution }, quote);
      const estimate = { model: model.id, quote, promptTokens: estimatePromptTokens(size, model), ...refusals };
      const { accountId } = caller;
      const quoted = { accountId, format: format.name, model: model.id, bodyDigest };
      const signed = isQuoted ? await this.quotes.sign(quoted, quote, model) : undefined;
      writeJson(exchange, response, JSON.stringify({ ...renderEstimate(estimate), ...(signed && renderSigned(signed)) }));
    } finally {
      this.bodies.release(request);
    }
  }
}

function wantsQuote(url = ''): boolean {
  const query = url.indexOf('?');
  return query !== -1 && new URLSearchParams(url.slice(query)).get('quote') === 'true';
}

import { Controller } from '@nestjs/common';
import { type EstimateRequest, type RequestEstimate, requestEstimate } from '#contracts/gateway.js';
import { ServiceError } from '#contracts/service-error.js';
import { GatewayError } from '#inference/errors.js';
import type { CallContext } from '#messaging/messaging.js';
import { Serves } from '#messaging/serves.js';
import { BillingClient } from './clients/billing.js';
import { CatalogClient } from './clients/catalog.js';
import { findRefusals } from './clients/find-refusals.js';
import { OwnKeys } from './clients/own-keys.js';
import { BodyParser } from './http/bodies/body-parser.js';
import { FORMATS } from './http/bodies/parse-large-body.js';
import { quoteRequest } from './pipeline/quote.js';

/** All operators together: they share one turn in the queue of large bodies. */
const OPERATORS = { accountId: 'operators', keyId: 'operators' };

/** Estimates requests for operators, by the code that quotes those of clients. The only subject that the gateway answers. */
@Controller()
export class EstimateController {
  constructor(
    private readonly catalog: CatalogClient,
    private readonly parser: BodyParser,
    private readonly billing: BillingClient,
    private readonly keys: OwnKeys,
  ) {}

  @Serves(requestEstimate)
  async estimate({ protocol, body, pricePlan, keyId, attribution }: EstimateRequest, { signal }: CallContext): Promise<RequestEstimate> {
    try {
      const received = { bytes: Buffer.from(body), owner: OPERATORS, stopped: signal, onSent: () => undefined };
      const { request } = await this.parser.parseGeneration(FORMATS[protocol], received);
      const model = this.catalog.model(request.model, { ...(pricePlan !== undefined && { pricePlan }) });
      const quote = quoteRequest(model, request);
      const { amount, pinnedPrice: price, promptTokensMax, promptTokensEstimate, outputTokensMax } = quote;
      const tokens = { promptTokensMax, promptTokensEstimate, outputTokensMax };
      const refusals = keyId === undefined ? {} : await findRefusals(this.billing, this.keys, { caller: { keyId }, attribution }, quote);
      return { model: model.id, price, ...tokens, heldPicoUsd: String(amount), ...refusals };
    } catch (error) {
      if (error instanceof GatewayError) throw new ServiceError(error.code, error.message, error.param);
      throw error;
    }
  }
}

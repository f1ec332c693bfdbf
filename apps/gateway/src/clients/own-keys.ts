import {
  type OwnKey,
  type OwnKeyRequestRequest,
  type OwnKeyUsageRequest,
  ownKeyRequest,
  ownKeyShow,
  ownKeyUsage,
} from '#contracts/billing/own-key.js';
import type { BilledRequest } from '#contracts/billing/requests.js';
import type { UsageQueryReply } from '#contracts/billing/usage.js';
import type { Endpoint } from '#contracts/endpoint.js';
import { ServiceError } from '#contracts/service-error.js';
import { GatewayError } from '#inference/errors.js';
import type { Messaging } from '#messaging/messaging.js';
import { billingError } from './billing.js';

/** Asks billing about the key of a request. Throws `GatewayError`s. */
export class OwnKeys {
  constructor(private readonly messaging: Messaging) {}

  show(keyId: string): Promise<OwnKey> {
    return this.ask(ownKeyShow, { keyId });
  }

  /** `request` has the fields as the client sent them: billing checks the times and the cursor, whose names are the client's. */
  usage(request: OwnKeyUsageRequest): Promise<UsageQueryReply> {
    return this.ask(ownKeyUsage, request);
  }

  /** Throws a 404 for a request of another key, as for an unknown one. */
  request(request: OwnKeyRequestRequest): Promise<BilledRequest> {
    return this.ask(ownKeyRequest, request);
  }

  private async ask<Request extends object, Reply>(endpoint: Endpoint<Request, Reply>, request: Request): Promise<Reply> {
    try {
      return await this.messaging.request(endpoint, request);
    } catch (error) {
      throw clientError(error);
    }
  }
}

function clientError(error: unknown): GatewayError {
  if (!(error instanceof ServiceError)) return billingError(error);
  // An id that cannot be one names no request either.
  if (error.code === 'not_found' || error.param === 'requestId') {
    return new GatewayError('invalid_request', 'This key has no such request.', { status: 404, type: 'not_found_error', cause: error });
  }
  if (error.code === 'invalid_request' && error.param !== undefined) {
    return new GatewayError('invalid_request', error.message, { param: error.param, cause: error });
  }
  return billingError(error);
}

import { type Attribution, CHILD } from '#contracts/billing/attribution.js';
import { type ChildKeyRevokeRequest, childKeyRevoke } from '#contracts/billing/child-keys.js';
import {
  type OwnKey,
  type OwnKeyRequestRequest,
  type OwnKeyShowRequest,
  type OwnKeyUsageRequest,
  ownKeyRequest,
  ownKeyShow,
  ownKeyUsage,
} from '#contracts/billing/own-key.js';
import { type OwnKeyReceiptRequest, ownKeyReceipt, type ReceiptFile } from '#contracts/billing/receipts.js';
import type { BilledRequest } from '#contracts/billing/requests.js';
import type { UsageQueryReply } from '#contracts/billing/usage.js';
import type { Endpoint } from '#contracts/endpoint.js';
import { ServiceError } from '#contracts/service-error.js';
import { GatewayError } from '#inference/errors.js';
import type { Messaging } from '#messaging/messaging.js';
import { billingError } from './billing.js';
import type { Caller } from './caller.js';
import { JoinedReads } from './joined-reads.js';
import { KeyReads } from './key-reads.js';

/** Milliseconds for a read of the journal: it may wait for its turn, and then take as long as billing lets a statement run. */
const READ_MS = 15_000;

/** Asks billing about the key of a request. Identical questions at once are joined. Throws `GatewayError`s. */
export class OwnKeys {
  private readonly reads = new KeyReads();
  private readonly keys = new JoinedReads((request) => this.ask(ownKeyShow, JSON.parse(request) as OwnKeyShowRequest));
  private readonly usages = new JoinedReads((request) => this.ask(ownKeyUsage, JSON.parse(request) as OwnKeyUsageRequest, READ_MS));

  constructor(private readonly messaging: Messaging) {}

  /** With an attribution the budgets of its user and tags are there too, and always those of a child key. */
  show({ keyId, child }: Pick<Caller, 'keyId' | 'child'>, attribution?: Attribution): Promise<OwnKey> {
    if (!child) return this.keys.get(JSON.stringify({ keyId, attribution }));
    const childLimitsPicoUsd = child.limitsPicoUsd;
    return this.keys.get(JSON.stringify({ keyId, attribution: { ...attribution, [CHILD]: child.path }, childLimitsPicoUsd }));
  }

  /** `request` has the fields as the client sent them: billing checks the times and the cursor, whose names are the client's. */
  usage(request: OwnKeyUsageRequest): Promise<UsageQueryReply> {
    const name = JSON.stringify(request);
    return this.reads.run(request.keyId, name, () => this.usages.get(name));
  }

  /** Throws a 404 for a request of another key, as for an unknown one. */
  request(request: OwnKeyRequestRequest): Promise<BilledRequest> {
    return this.reads.run(request.keyId, request.requestId, () => this.ask(ownKeyRequest, request, READ_MS));
  }

  /** Throws a 404 as for `request`, and for a request whose month is not closed. */
  receipt(request: OwnKeyReceiptRequest): Promise<ReceiptFile> {
    return this.reads.run(request.keyId, `receipt ${request.requestId}`, () =>
      this.ask(ownKeyReceipt, request, READ_MS).catch((error: GatewayError) => {
        throw isConflict(error.cause) ? noReceipt(error.cause) : error;
      }),
    );
  }

  /** Ends a child key and all below it. The row of the journal names the key that asked. */
  async revokeChild(request: ChildKeyRevokeRequest): Promise<void> {
    await this.ask(childKeyRevoke, request);
  }

  private async ask<Request extends object, Reply>(
    endpoint: Endpoint<Request, Reply>,
    request: Request,
    timeoutMs?: number,
  ): Promise<Reply> {
    try {
      return await this.messaging.request(endpoint, request, timeoutMs === undefined ? {} : { timeoutMs });
    } catch (error) {
      throw clientError(error);
    }
  }
}

function isConflict(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.code === 'conflict';
}

/** The request is there; its receipt is not made yet, or cannot be made. */
function noReceipt(error: ServiceError): GatewayError {
  return new GatewayError('invalid_request', error.message, { status: 404, type: 'not_found_error', cause: error });
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
  // The account has too many reads at once, by all its keys.
  if (error.code === 'rate_limit_exceeded')
    return new GatewayError('concurrency_limit', error.message, { retryAfterSeconds: 1, cause: error });
  return billingError(error);
}

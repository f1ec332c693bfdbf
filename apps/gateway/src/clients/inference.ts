import { generate, type Ticket } from '#contracts/inference.js';
import { ServiceError } from '#contracts/service-error.js';
import { GatewayError, isErrorCode } from '#inference/errors.js';
import type { InferenceRequest } from '#inference/request.js';
import type { StreamEvent } from '#inference/stream-event.js';
import { EncodedJson } from '#messaging/encoded-json.js';
import { type EventStream, type Messaging, MessagingError } from '#messaging/messaging.js';
import type { TraceContext } from '#tracing/trace-context.js';
import { EncodedRequest } from '../encoded-request.js';

/** Sends generation requests to the inference-proxy. */
export class InferenceClient {
  constructor(private readonly messaging: Messaging) {}

  /** Sends the request and returns its event stream, to be iterated once. `inferenceError` translates its errors for the client. */
  open(
    { ticket, request }: { ticket: Ticket; request: InferenceRequest | EncodedRequest },
    trace?: TraceContext,
  ): EventStream<StreamEvent> {
    const payload = request instanceof EncodedRequest ? encodeWork(ticket, request) : { ticket, request };
    return this.messaging.openStream(generate, payload, { trace });
  }
}

/** Encodes a `GenerateRequest` whose request is JSON text already. */
function encodeWork(ticket: Ticket, request: EncodedRequest): EncodedJson {
  const head = Buffer.from(`{"ticket":${JSON.stringify(ticket)},"request":`);
  return new EncodedJson(Buffer.concat([head, request.takeJson(), Buffer.from('}')]), request.onSent);
}

/** Returns the client's error when the inference-proxy cannot be reached, refuses, or disconnects. */
export function inferenceError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  const unavailable = 'The model is temporarily unavailable. Try again.';
  if (isUnavailable(error)) return new GatewayError('model_unavailable', unavailable, { retryAfterSeconds: 1, cause: error });
  if (error instanceof MessagingError) {
    return new GatewayError('upstream_error', 'The connection to the model was lost before its reply was complete.', { cause: error });
  }
  if (error instanceof ServiceError && isErrorCode(error.code)) return new GatewayError(error.code, error.message, { cause: error });
  return new GatewayError('internal_error', 'The request could not be completed.', { cause: error });
}

function isUnavailable(error: unknown): boolean {
  if (error instanceof MessagingError) return error.kind === 'unavailable' || error.kind === 'closed';
  return error instanceof ServiceError && error.code === 'unavailable';
}

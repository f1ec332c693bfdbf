import { type GenerateRequest, generate } from '#contracts/inference.js';
import { ServiceError } from '#contracts/service-error.js';
import { GatewayError, isErrorCode } from '#inference/errors.js';
import type { StreamEvent } from '#inference/stream-event.js';
import { type EventStream, type Messaging, MessagingError } from '#messaging/messaging.js';

/** Starts requests at the inference-proxy. */
export class InferenceClient {
  constructor(private readonly messaging: Messaging) {}

  /** Starts at once; iterate the result once. What it throws, `inferenceError` makes fit for a client. */
  open(work: GenerateRequest, traceparent?: string): EventStream<StreamEvent> {
    return this.messaging.openStream(generate, work, { traceparent });
  }
}

/** What a client sees when the proxy cannot be reached, refuses, or is lost on the way. */
export function inferenceError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  if (error instanceof MessagingError && (error.kind === 'unavailable' || error.kind === 'closed')) {
    return new GatewayError('model_unavailable', 'The model is temporarily unavailable. Try again.', {
      retryAfterSeconds: 1,
      cause: error,
    });
  }
  if (error instanceof MessagingError) {
    return new GatewayError('upstream_error', 'The connection to the model was lost before its reply was complete.', { cause: error });
  }
  if (error instanceof ServiceError && error.code === 'unavailable') {
    return new GatewayError('model_unavailable', 'The model is temporarily unavailable. Try again.', {
      retryAfterSeconds: 1,
      cause: error,
    });
  }
  if (error instanceof ServiceError && isErrorCode(error.code)) return new GatewayError(error.code, error.message, { cause: error });
  return new GatewayError('internal_error', 'The request could not be completed.', { cause: error });
}

import { Controller, Inject } from '@nestjs/common';
import { type GenerateRequest, generate, Ticket } from '#contracts/inference.js';
import { ServiceError } from '#contracts/service-error.js';
import type { StreamEvent } from '#inference/stream-event.js';
import type { CallContext } from '#messaging/messaging.js';
import { Serves } from '#messaging/serves.js';
import { validatePayload } from '#messaging/validate-payload.js';
import { type InferenceDependencies, streamInference } from './stream-inference.js';

export const INFERENCE_DEPENDENCIES = Symbol('InferenceDependencies');

@Controller()
export class InferenceController {
  constructor(@Inject(INFERENCE_DEPENDENCIES) private readonly dependencies: InferenceDependencies) {}

  /** Checks the ticket only: a request may be 8 MB, and the gateway has made it. */
  @Serves(generate, { validate: false })
  generate(payload: GenerateRequest, context: CallContext): AsyncIterable<readonly StreamEvent[]> {
    const ticket = validatePayload(Ticket, payload?.ticket);
    const { request } = payload;
    if (typeof request !== 'object' || request === null) throw new ServiceError('invalid_request', 'request must be an object', 'request');
    return streamInference({ ticket, request }, context.signal, this.dependencies);
  }
}

import { Controller, Inject } from '@nestjs/common';
import { GenerateRequest, generate } from '#contracts/inference.js';
import type { StreamEvent } from '#inference/stream-event.js';
import type { CallContext } from '#messaging/messaging.js';
import { Serves } from '#messaging/serves.js';
import { type InferenceDependencies, streamInference } from './calls/stream-inference.js';

export const INFERENCE_DEPENDENCIES = Symbol('InferenceDependencies');

@Controller()
export class InferenceController {
  constructor(@Inject(INFERENCE_DEPENDENCIES) private readonly dependencies: InferenceDependencies) {}

  @Serves(generate, { sharedBy: (payload) => payload?.ticket?.accountId })
  generate(request: GenerateRequest, context: CallContext): AsyncIterable<readonly StreamEvent[]> {
    return streamInference(request, context, this.dependencies);
  }
}

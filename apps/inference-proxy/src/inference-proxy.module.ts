import { type DynamicModule, Module } from '@nestjs/common';
import { INFERENCE_DEPENDENCIES, InferenceController } from './inference.controller.js';
import type { InferenceDependencies } from './stream-inference.js';
import { UpstreamTestController } from './upstream-test/upstream-test.controller.js';
import { UpstreamTests } from './upstream-test/upstream-tests.js';

@Module({ controllers: [InferenceController, UpstreamTestController] })
class InferenceProxyModule {}

/** Gives the framework what `start-inference-proxy.ts` made; lifetimes stay there. */
export function inferenceProxyModule(dependencies: InferenceDependencies, tests: UpstreamTests): DynamicModule {
  return {
    module: InferenceProxyModule,
    providers: [
      { provide: INFERENCE_DEPENDENCIES, useValue: dependencies },
      { provide: UpstreamTests, useValue: tests },
    ],
  };
}

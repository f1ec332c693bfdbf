import { type DynamicModule, Module } from '@nestjs/common';
import { INFERENCE_DEPENDENCIES, InferenceController } from './inference.controller.js';
import type { InferenceDependencies } from './stream-inference.js';

@Module({ controllers: [InferenceController] })
class InferenceProxyModule {}

/** Gives the framework what `start-inference-proxy.ts` made; lifetimes stay there. */
export function inferenceProxyModule(dependencies: InferenceDependencies): DynamicModule {
  return { module: InferenceProxyModule, providers: [{ provide: INFERENCE_DEPENDENCIES, useValue: dependencies }] };
}

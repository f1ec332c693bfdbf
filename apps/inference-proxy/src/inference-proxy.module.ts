import { type DynamicModule, Module } from '@nestjs/common';
import type { InferenceDependencies } from './calls/stream-inference.js';
import { INFERENCE_DEPENDENCIES, InferenceController } from './inference.controller.js';
import { ProbeController } from './probe/probe.controller.js';
import { ProbeRunner } from './probe/probe-runner.js';
import { RouteBook } from './routing/route-book.js';
import { RouteStatusController } from './routing/route-status.controller.js';

@Module({ controllers: [InferenceController, RouteStatusController, ProbeController] })
class InferenceProxyModule {}

/** Gives the framework what `start-inference-proxy.ts` made; lifetimes stay there. */
export function inferenceProxyModule(dependencies: InferenceDependencies, routes: RouteBook, tests: ProbeRunner): DynamicModule {
  return {
    module: InferenceProxyModule,
    providers: [
      { provide: INFERENCE_DEPENDENCIES, useValue: dependencies },
      { provide: RouteBook, useValue: routes },
      { provide: ProbeRunner, useValue: tests },
    ],
  };
}

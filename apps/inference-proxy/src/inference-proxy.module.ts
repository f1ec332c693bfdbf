import { type DynamicModule, Module } from '@nestjs/common';
import type { InferenceDependencies } from './calls/stream-inference.js';
import { INFERENCE_DEPENDENCIES, InferenceController } from './inference.controller.js';
import { UpstreamTestController } from './probe/probe.controller.js';
import { UpstreamTests } from './probe/probe-runner.js';
import { RouteStatusController } from './routing/route-status.controller.js';
import { RouteTable } from './routing/route-table.js';

@Module({ controllers: [InferenceController, RouteStatusController, UpstreamTestController] })
class InferenceProxyModule {}

/** Gives the framework what `start-inference-proxy.ts` made; lifetimes stay there. */
export function inferenceProxyModule(dependencies: InferenceDependencies, routes: RouteTable, tests: UpstreamTests): DynamicModule {
  return {
    module: InferenceProxyModule,
    providers: [
      { provide: INFERENCE_DEPENDENCIES, useValue: dependencies },
      { provide: RouteTable, useValue: routes },
      { provide: UpstreamTests, useValue: tests },
    ],
  };
}

import { hostname } from 'node:os';
import { Controller, Inject } from '@nestjs/common';
import type { EmptyRequest } from '#contracts/catalog.js';
import { GenerateRequest, generate } from '#contracts/inference.js';
import {
  type CandidateProbeRequest,
  candidateProbe,
  type UpstreamProbeEvent,
  type UpstreamProbeRequest,
  upstreamProbe,
} from '#contracts/probe.js';
import { type RouteStatusReply, routeStatus } from '#contracts/route-status.js';
import type { StreamEvent } from '#inference/stream-event.js';
import type { CallContext } from '#messaging/messaging.js';
import { Serves } from '#messaging/serves.js';
import { type InferenceDependencies, streamInference } from './calls/stream-inference.js';
import { ProbeRunner } from './probe/probe-runner.js';
import { RouteTable } from './routing/route-table.js';

export const INFERENCE_DEPENDENCIES = Symbol('InferenceDependencies');
const REPLICA = `${hostname()}/${process.pid}`;

/** Everything that the service answers on NATS. */
@Controller()
export class InferenceProxyController {
  constructor(
    @Inject(INFERENCE_DEPENDENCIES) private readonly dependencies: InferenceDependencies,
    private readonly routes: RouteTable,
    private readonly probes: ProbeRunner,
  ) {}

  @Serves(generate, { sharedBy: (payload) => payload?.ticket?.accountId })
  generate(request: GenerateRequest, context: CallContext): AsyncIterable<readonly StreamEvent[]> {
    return streamInference(request, context, this.dependencies);
  }

  @Serves(routeStatus)
  async status(_request: EmptyRequest): Promise<RouteStatusReply> {
    return this.routes.status(REPLICA);
  }

  @Serves(upstreamProbe)
  probe(request: UpstreamProbeRequest, context: CallContext): AsyncIterable<readonly UpstreamProbeEvent[]> {
    return this.probes.run(request, context);
  }

  @Serves(candidateProbe)
  probeCandidate(request: CandidateProbeRequest, context: CallContext): AsyncIterable<readonly UpstreamProbeEvent[]> {
    return this.probes.runCandidate(request, context);
  }
}

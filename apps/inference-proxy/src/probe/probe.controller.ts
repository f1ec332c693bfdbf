import { Controller, Inject } from '@nestjs/common';
import { type UpstreamProbeEvent, type UpstreamProbeRequest, upstreamProbe } from '#contracts/probe.js';
import type { CallContext } from '#messaging/messaging.js';
import { Serves } from '#messaging/serves.js';
import { ProbeRunner } from './probe-runner.js';

/** Serves the operator's command that finds out what an upstream supports. */
@Controller()
export class ProbeController {
  constructor(@Inject(ProbeRunner) private readonly probes: ProbeRunner) {}

  @Serves(upstreamProbe)
  probe(request: UpstreamProbeRequest, { signal }: CallContext): AsyncIterable<readonly UpstreamProbeEvent[]> {
    return this.probes.run(request, signal);
  }
}

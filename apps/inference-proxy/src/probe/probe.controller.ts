import { Controller, Inject } from '@nestjs/common';
import { type UpstreamTestEvent, type UpstreamTestRequest, upstreamTest } from '#contracts/probe.js';
import type { CallContext } from '#messaging/messaging.js';
import { Serves } from '#messaging/serves.js';
import { ProbeRunner } from './probe-runner.js';

/** Serves the operator's command that finds out what an upstream supports. */
@Controller()
export class ProbeController {
  constructor(@Inject(ProbeRunner) private readonly probes: ProbeRunner) {}

  @Serves(upstreamTest)
  probe(request: UpstreamTestRequest, { signal }: CallContext): AsyncIterable<readonly UpstreamTestEvent[]> {
    return this.probes.run(request, signal);
  }
}

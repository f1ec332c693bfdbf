import { Controller, Inject } from '@nestjs/common';
import { type UpstreamTestEvent, type UpstreamTestRequest, upstreamTest } from '#contracts/probe.js';
import type { CallContext } from '#messaging/messaging.js';
import { Serves } from '#messaging/serves.js';
import { UpstreamTests } from './probe-runner.js';

/** For operators: what can this upstream do? */
@Controller()
export class UpstreamTestController {
  constructor(@Inject(UpstreamTests) private readonly tests: UpstreamTests) {}

  @Serves(upstreamTest)
  test(request: UpstreamTestRequest, { signal }: CallContext): AsyncIterable<readonly UpstreamTestEvent[]> {
    return this.tests.run(request, signal);
  }
}

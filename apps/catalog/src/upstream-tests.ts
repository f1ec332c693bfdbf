import type { Caller } from '#contracts/audit.js';
import type { UpstreamTestRecordReply, UpstreamTestRecordRequest } from '#contracts/probe.js';
import { audited } from '#database/audit-journal.js';
import type { PrismaClient } from '#database/prisma-client.js';
import type { Logger } from '#observability/logger.js';

/** Journal of the tests of upstreams. A test changes nothing, but it sends the upstream's key and costs the operator money. */
export class UpstreamTests {
  constructor(
    private readonly prisma: PrismaClient,
    private readonly logger: Logger,
  ) {}

  /** The inference-proxy sends the request for the caller of the test, whose NATS user it names in `via`. */
  record({ upstreamId, via = null, ...after }: UpstreamTestRecordRequest, caller: Caller): Promise<UpstreamTestRecordReply> {
    const target = `upstream/${upstreamId}`;
    const author = { caller: { ...caller, via }, logger: this.logger };
    const change = { action: 'upstream.test', accountId: null, target, reason: null, before: null, after: { ...after } };
    return audited(this.prisma, 'catalog', author, async () => ({ result: { target }, change }));
  }
}

import type { IncomingHttpHeaders } from 'node:http';
import type { Logger } from '#observability/logger.js';
import type { GatewayMetrics } from './gateway-metrics.js';
import type { Exchange } from './http-exchange.js';

/** Not an HTTP status that is ever sent: the client left before it got one. */
const CLIENT_GONE = 499;

/** Longest part of a header that a line keeps, in characters: enough for the names of SDKs, agents and trace ids. */
const USER_AGENT_MAX = 200;
const CLIENT_REQUEST_ID_MAX = 100;

/** One line and one count a request, when all is known of it. Its fields are listed here: no content and no key has one. */
export class AccessLog {
  constructor(
    private readonly logger: Logger,
    private readonly metrics: GatewayMetrics,
  ) {}

  /** `method` and `headers` are undefined for what could not be read, `status` where none was sent. */
  write(
    exchange: Exchange,
    { method, headers, status = CLIENT_GONE }: { method?: string; headers?: IncomingHttpHeaders; status?: number },
    endedAt: number,
  ): void {
    const { route, requestId, caller, inference, startedAt, firstContentAt, error } = exchange;
    this.count(exchange, status, endedAt);
    // A cause is something of ours that went wrong; what an upstream did is told by the code, and in the proxy's own log.
    const level = error?.cause === undefined ? 'info' : 'error';
    this.logger[level](
      {
        requestId,
        clientRequestId: printable(headers?.['x-request-id'], CLIENT_REQUEST_ID_MAX),
        clientAddress: exchange.address,
        userAgent: printable(headers?.['user-agent'], USER_AGENT_MAX),
        method,
        route,
        status,
        code: error?.code,
        err: error?.cause,
        accountId: caller?.accountId,
        projectId: caller?.projectId,
        keyId: caller?.keyId,
        ...inference,
        totalMs: round(endedAt - startedAt),
        firstContentMs: firstContentAt === undefined ? undefined : round(firstContentAt - startedAt),
      },
      'request',
    );
  }

  private count({ route, error, inference, startedAt, firstContentAt }: Exchange, status: number, endedAt: number): void {
    const stream = String(inference?.stream ?? false);
    this.metrics.requests.inc({ route, status, code: error?.code ?? '' });
    this.metrics.seconds.observe({ route, stream }, (endedAt - startedAt) / 1000);
    if (firstContentAt !== undefined) this.metrics.firstContentSeconds.observe({ stream }, (firstContentAt - startedAt) / 1000);
    const usage = inference?.usage;
    if (!usage) return;
    // Only models of the catalog get as far as a usage, so that clients cannot make up label values.
    const model = inference.model ?? '';
    this.metrics.tokens.inc({ model, kind: 'prompt' }, usage.promptTokens - usage.cachedTokens);
    this.metrics.tokens.inc({ model, kind: 'cached' }, usage.cachedTokens);
    this.metrics.tokens.inc({ model, kind: 'output' }, usage.outputTokens);
  }
}

/** A header's first `max` characters, without control characters. */
function printable(value: string | string[] | undefined, max: number): string | undefined {
  return typeof value === 'string' ? value.slice(0, max).replace(/\p{Cc}/gu, '') : undefined;
}

function round(milliseconds: number): number {
  return Math.round(milliseconds * 10) / 10;
}

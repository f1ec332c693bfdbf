import type { IncomingHttpHeaders } from 'node:http';
import type { Logger } from '#observability/logger.js';
import type { InferenceRecord } from '../pipeline/inference-call.js';
import { type ActivityEvents, listCalls } from './activity-events.js';
import { CLIENT_DISCONNECTED, type GatewayMetrics } from './gateway-metrics.js';
import type { HttpExchange } from './http-exchange.js';
import { ROUTES, type Route } from './routes.js';
import { userAgentFamily } from './user-agent.js';

/** Characters of a header that a log line keeps: enough for the names of SDKs and agents, and for trace ids. */
const USER_AGENT_MAX = 200;
const CLIENT_REQUEST_ID_MAX = 100;

const FORMATS = new Map(Object.values<Route>(ROUTES).map(({ path, format }) => [path, format]));

/**
 * Writes one log line and one metric sample for each finished request, and passes it on as activity. The fields are listed here; content
 * and keys are never logged.
 */
export class AccessLog {
  constructor(
    private readonly logger: Logger,
    private readonly metrics: GatewayMetrics,
    /** Absent when `ACTIVITY_EVENTS` is off. */
    private readonly activity?: ActivityEvents,
  ) {}

  /** `method` and `headers` are undefined for an unreadable request, `status` when none was sent. */
  write(
    exchange: HttpExchange,
    { method, headers, status = CLIENT_DISCONNECTED }: { method?: string; headers?: IncomingHttpHeaders; status?: number },
    endedAt: number,
  ): void {
    const { route, requestId, refusedCaller, caller = refusedCaller, inference, startedAt, firstContentAt, error } = exchange;
    this.count(exchange, status, endedAt);
    this.activity?.push(exchange, status, endedAt);
    const userAgent = printable(headers?.['user-agent'], USER_AGENT_MAX);
    // A cause is an internal error, unless the client is at fault: then it is the refusal of another service, which the client is sent.
    // Upstream failures have none here: the inference-proxy logs them.
    const fault = error !== undefined && error.status >= 500 ? error.cause : undefined;
    const level = fault === undefined ? 'info' : 'error';
    this.logger[level](
      {
        requestId,
        traceId: exchange.traceId,
        clientRequestId: printable(headers?.['x-request-id'], CLIENT_REQUEST_ID_MAX),
        clientAddress: exchange.address,
        userAgent,
        userAgentFamily: userAgentFamily(userAgent),
        method,
        route,
        format: FORMATS.get(route),
        status,
        code: error?.code,
        err: fault,
        accountId: caller?.accountId,
        projectId: caller?.projectId,
        keyId: caller?.keyId,
        childId: caller?.child?.path,
        ...inference,
        reserveMs: rounded(inference?.reserveMs),
        settleMs: rounded(inference?.settleMs),
        policyMs: rounded(inference?.policyMs),
        requests: undefined,
        tokens: undefined,
        activity: undefined,
        calls: listCalls(exchange),
        totalMs: round(endedAt - startedAt),
        firstContentMs: rounded(firstContentAt && firstContentAt - startedAt),
      },
      'request',
    );
  }

  private count(exchange: HttpExchange, status: number, endedAt: number): void {
    const { route, error, inference, span, startedAt, firstContentAt } = exchange;
    const stream = String(inference?.stream ?? false);
    this.metrics.requests.inc({ route, status, code: error?.code ?? '' });
    const exemplarLabels = span?.isSampled ? { trace_id: span.traceId } : undefined;
    this.metrics.seconds.observe({ labels: { route, stream }, value: (endedAt - startedAt) / 1000, exemplarLabels });
    if (firstContentAt !== undefined)
      this.metrics.firstContentSeconds.observe({ labels: { stream }, value: (firstContentAt - startedAt) / 1000, exemplarLabels });
    const reserveMs = inference?.reserveMs;
    if (reserveMs !== undefined) this.metrics.reserveSeconds.observe({ labels: {}, value: reserveMs / 1000, exemplarLabels });
    this.countPolicy(inference, exemplarLabels);
    const usage = inference?.usage;
    if (!usage) return;
    // Only catalog models reach a usage, so clients cannot create label values.
    const model = inference.model ?? '';
    this.metrics.tokens.inc({ model, kind: 'prompt' }, usage.promptTokens - usage.cachedTokens);
    this.metrics.tokens.inc({ model, kind: 'cached' }, usage.cachedTokens);
    this.metrics.tokens.inc({ model, kind: 'output' }, usage.outputTokens);
    if (inference.unbilledTokens !== undefined) this.metrics.unbilledTokens.inc({ model }, inference.unbilledTokens);
  }

  /** Names of policies are the operator's, so clients cannot create label values. */
  private countPolicy({ policy, policyOutcome, policyMs }: InferenceRecord = {}, exemplarLabels?: Record<string, string>): void {
    if (policy === undefined || policyOutcome === undefined || policyMs === undefined) return;
    this.metrics.policyDecisions.inc({ policy, outcome: policyOutcome });
    this.metrics.policySeconds.observe({ labels: { policy }, value: policyMs / 1000, exemplarLabels });
  }
}

/** Returns the first `max` characters of a header without control characters. */
function printable(value: string | string[] | undefined, max: number): string | undefined {
  return typeof value === 'string' ? value.slice(0, max).replace(/\p{Cc}/gu, '') : undefined;
}

function round(milliseconds: number): number {
  return Math.round(milliseconds * 10) / 10;
}

function rounded(milliseconds: number | undefined): number | undefined {
  return milliseconds === undefined ? undefined : round(milliseconds);
}

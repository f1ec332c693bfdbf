import { parseTraceContext } from '#tracing/trace-context.js';
import type { Tracer } from '#tracing/tracer.js';
import type { GatewayRequest, HttpExchange } from './http-exchange.js';
import type { Route } from './routes.js';

/** Takes over the client's trace context, and begins the span of the request if traces are exported. */
export function beginSpan(request: GatewayRequest, route: Route | undefined, tracer: Tracer | undefined): void {
  const { exchange, headers, method = 'GET' } = request;
  if (headers.traceparent !== undefined) exchange.trace = parseTraceContext(headers.traceparent, headers.tracestate);
  if (tracer === undefined) return;
  // A path without a route is the client's own text, which could be a secret in the wrong place.
  exchange.span = tracer.startRoot(route === undefined ? method : `${method} ${route.path}`, 'server', {
    parent: exchange.trace,
    // The trace of a request is then found by its request id.
    traceId: exchange.id,
    attributes: {
      'http.request.method': method,
      'http.route': route?.path,
      'url.path': route?.path,
      'url.scheme': 'http',
      'tollgate.request_id': exchange.requestId,
    },
  });
}

/** Ends the span. Only a fault of the gateway or behind it is a failure: a refused request is the client's. `status` undefined: none was sent. */
export function endSpan(exchange: HttpExchange, status: number | undefined): void {
  const { span, refusedCaller, caller = refusedCaller, error, inference, firstContentAt } = exchange;
  if (span === undefined) return;
  const { usage } = inference ?? {};
  span.set({
    'http.response.status_code': status,
    'tollgate.account_id': caller?.accountId,
    'tollgate.project_id': caller?.projectId,
    'tollgate.key_id': caller?.keyId,
    'tollgate.hold_id': inference?.holdId,
    'tollgate.outcome': inference?.outcome,
    'tollgate.upstream': inference?.upstream,
    'tollgate.cost_pico_usd': inference?.costPicoUsd,
    'gen_ai.request.model': inference?.model,
    'gen_ai.request.stream': inference?.stream,
    'gen_ai.usage.input_tokens': usage?.promptTokens,
    'gen_ai.usage.output_tokens': usage?.outputTokens,
    'error.type': error?.code,
  });
  if (firstContentAt !== undefined) span.addEvent('first content', undefined, firstContentAt);
  if (error !== undefined && error.status >= 500) span.fail(error.code);
  span.end();
}

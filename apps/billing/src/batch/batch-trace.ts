import type { ReserveOutcome, SettleOutcome } from '#contracts/billing/holds.js';
import { isSampled } from '#tracing/trace-context.js';
import { type Span, type Tracer, underSpan } from '#tracing/tracer.js';

/** Starts the span of a reserve or settle whose caller is sampled. */
export function findSpan(
  name: string,
  { holdId, traceparent }: { holdId: string; traceparent?: string },
  tracer: Tracer | undefined,
): Span | undefined {
  if (traceparent === undefined || tracer === undefined || !isSampled({ traceparent })) return undefined;
  return tracer.startRoot(name, 'server', { parent: { traceparent }, attributes: { 'tollgate.hold_id': holdId } });
}

/** Ends the span with the outcome. A refusal is an answer, not a failure. */
export function endWithOutcome<Outcome extends ReserveOutcome | SettleOutcome>(span: Span, outcome: Promise<Outcome>): Promise<Outcome> {
  return underSpan(span, async () => {
    const decided = await outcome;
    span.set({ 'tollgate.status': decided.status, 'tollgate.code': 'code' in decided ? decided.code : undefined });
    return decided;
  });
}

/**
 * Starts the span of a batch if one of its requests has a span. The batch serves many requests, so it is a trace of its own: links lead from
 * each request to its batch and back.
 */
export function findBatchSpan(requests: readonly { span?: Span | undefined }[], tracer: Tracer): Span | undefined {
  const served = requests.flatMap(({ span }) => (span === undefined ? [] : [span]));
  if (served.length === 0) return undefined;
  const attributes = { 'db.system.name': 'postgresql', 'db.operation.batch.size': requests.length };
  const batch = tracer.startRoot('database batch', 'client', { links: served, attributes });
  for (const span of served) span.linkTo(batch);
  return batch;
}

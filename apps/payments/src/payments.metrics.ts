import type { Registry } from 'prom-client';
import { metricsIn } from '#observability/metrics-in.js';

/** Outcomes of a request to the webhook. */
const OUTCOMES = ['booked', 'repeated', 'ignored', 'alerted', 'forged', 'failed'] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** Reasons for which a person must look at an event. */
const ALERTS = ['currency', 'amount', 'account', 'conflict', 'uncovered', 'refund_failed', 'dispute_won'] as const;
export type Alert = (typeof ALERTS)[number];

export type PaymentsMetrics = ReturnType<typeof createPaymentsMetrics>;

export function createPaymentsMetrics(registry: Registry) {
  const { counter } = metricsIn(registry);
  const metrics = {
    events: counter('tollgate_payments_events_total', `Requests to the webhook by outcome: ${OUTCOMES.join(', ')}`, ['outcome']),
    alerts: counter('tollgate_payments_alerts_total', `Events that a person must look at by reason: ${ALERTS.join(', ')}`, ['reason']),
  };
  // Counters start at 0: rate() misses an increment from nothing to 1.
  for (const outcome of OUTCOMES) metrics.events.inc({ outcome }, 0);
  for (const reason of ALERTS) metrics.alerts.inc({ reason }, 0);
  return metrics;
}
